import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, type Log } from '../log.ts';

const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 2_000;

/** An unclear error is treated as the fault of a row after so many tries in succession. */
const UNCLEAR_TRIES = 5;

/** The worker stops before this work is done: its jobs return to the queue. */
export class Stopping extends Error {}

export interface RetryOptions {
  /** Whether the database is unreachable or busy, so waiting helps. */
  isOutage: (error: unknown) => boolean;
  mayBeDataError: (error: unknown) => boolean;
  stopping: AbortSignal;
  log: Log;
}

/**
 * Repeats work on the database during an outage, with a capped back-off and no limit on its duration. `lastResort` is
 * true after `UNCLEAR_TRIES` errors that may be the fault of a row.
 * @throws Stopping when the worker stops meanwhile; otherwise an error that is no outage
 */
export type Retry = <T>(work: (lastResort: boolean) => Promise<T>, warning: string, batches: number) => Promise<T>;

export function createRetry({ isOutage, mayBeDataError, stopping, log }: RetryOptions): Retry {
  return async (work, warning, batches) => {
    let unclear = 0;
    for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS)) {
      try {
        return await work(unclear >= UNCLEAR_TRIES);
      } catch (error) {
        if (!isOutage(error)) throw error;
        unclear = mayBeDataError(error) ? unclear + 1 : 0;
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
