/** What was waited for did not come in time; whether it happened is not known. */
export class DeadlineExceeded extends Error {
  /** The code that drivers use for the same. */
  readonly code = 'ETIMEDOUT';
}

/** Whether something happened is not known, and could not be asked either. */
export class OutcomeUnknown extends Error {
  readonly code = 'ETIMEDOUT';
}

/**
 * Waits for work, but not for longer than `ms`. The work itself goes on.
 *
 * @throws DeadlineExceeded, or what the work threw
 */
export async function withDeadline<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new DeadlineExceeded(`no answer in ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
