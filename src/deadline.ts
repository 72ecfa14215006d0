/** Work did not end in time; its outcome is unknown. */
export class DeadlineExceeded extends Error {
  /** The code that drivers use for the same. */
  readonly code = 'ETIMEDOUT';
}

/** The outcome of work is unknown, and could not be queried either. */
export class OutcomeUnknown extends Error {
  readonly code = 'ETIMEDOUT';
}

/** Throws DeadlineExceeded after `ms`, or the error of the work. The work itself continues. */
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
