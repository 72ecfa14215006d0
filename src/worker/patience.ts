import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Log } from '../log.ts';

const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 2_000;

/** After this many tries in a row an unclear error is taken for the fault of a row, so that it blocks nobody else. */
const UNCLEAR_TRIES = 5;

/** The worker is stopping and this work is not done: its jobs go back to the queue. */
export class Stopping extends Error {}

export interface PatienceOptions {
  /** Whether an error says that the database is away or busy, so that waiting helps. */
  isOutage: (error: unknown) => boolean;
  /** Whether an error, when it comes again and again, is the fault of a row. */
  mayBeTheData: (error: unknown) => boolean;
  stopping: AbortSignal;
  log: Log;
}

/**
 * Repeats a question to the database until it is answered, however long that takes, with a capped back-off.
 * `lastResort` tells the question that its errors so far may be the data's.
 *
 * @throws Stopping when the worker stops meanwhile; otherwise what is no outage
 */
export type Patience = <T>(ask: (lastResort: boolean) => Promise<T>, warning: string, batches: number) => Promise<T>;

export function createPatience({ isOutage, mayBeTheData, stopping, log }: PatienceOptions): Patience {
  return async (ask, warning, batches) => {
    let unclear = 0;
    for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS)) {
      try {
        return await ask(unclear >= UNCLEAR_TRIES);
      } catch (error) {
        if (!isOutage(error)) throw error;
        unclear = mayBeTheData(error) ? unclear + 1 : 0;
        if (stopping.aborted) throw new Stopping();
        log.warn({ batches, backoffMs, error: describeError(error) }, warning);
      }
      const jitter = 0.5 + Math.random() / 2;
      await sleep(backoffMs * jitter, undefined, { signal: stopping }).catch(() => {
        throw new Stopping();
      });
    }
  };
}
