import { setTimeout as sleep } from 'node:timers/promises';
import { createGroupCommit } from '../group-commit.ts';
import { describeError, type Log } from '../log.ts';
import type { CaptureBatch, Persisted } from './persist.ts';

/** Jobs and bytes of one transaction at most: it stays short, and a retry of it cheap. */
const TRANSACTION_MAX_JOBS = 256;
const TRANSACTION_MAX_BYTES = 4 * 1024 * 1024;
const OVERLAPPING_TRANSACTIONS = 2;

const FIRST_BACKOFF_MS = 50;

/** After this many tries in a row an unclear error is taken for the fault of a row, so that it blocks nobody else. */
const UNCLEAR_TRIES = 5;

const MAX_BACKOFF_MS = 2_000;

/** The worker is stopping and this batch is not stored: its job goes back to the queue. */
export class Stopping extends Error {}

export interface Committer {
  /**
   * Resolves when the batch is in the database and its captures were shown, however long the database is away.
   * @throws Stopping after `stop`; otherwise only what a job itself is guilty of
   */
  commit(batch: CaptureBatch): Promise<void>;
  /** Ends waiting for a database that does not answer. Transactions that run are finished. */
  stop(): void;
}

export interface CommitterOptions {
  /** `lastResort`: what may be a row's fault is taken for it. */
  persist: (batches: CaptureBatch[], lastResort: boolean) => Promise<Persisted>;
  /** Shows what is stored to its followers. */
  broadcast: (persisted: Persisted) => Promise<unknown>;
  /** Whether an error says that the database is away or busy, so that waiting helps. */
  isOutage: (error: unknown) => boolean;
  /** Whether an error, when it comes again and again, is the fault of a row. */
  mayBeTheData: (error: unknown) => boolean;
  log: Log;
}

/**
 * Group commit of jobs: those that arrive while a transaction is in flight share the next one.
 * An outage of the database is waited out here, with a capped back-off, so that it costs no job an attempt.
 */
export function createCommitter({ persist, broadcast, isOutage, mayBeTheData, log }: CommitterOptions): Committer {
  const stopping = new AbortController();
  const group = createGroupCommit<CaptureBatch, void>({
    maxItems: TRANSACTION_MAX_JOBS,
    maxBytes: TRANSACTION_MAX_BYTES,
    maxInFlight: OVERLAPPING_TRANSACTIONS,
    sizeOf: ({ captures }) => captures.reduce((sum, { body }) => sum + 1024 + body.length, 0),
    async flush(batches) {
      const persisted = await untilTaken(batches);
      const { refused } = persisted;
      if (refused.length > 0) {
        const codes = [...new Set(refused.map(({ errorCode }) => errorCode))];
        log.error({ captures: refused.length, codes }, 'The database refused captures; they are in dead_letters');
      }
      await broadcast(persisted);
      return [];
    },
  });

  async function untilTaken(batches: CaptureBatch[]): Promise<Persisted> {
    let unclear = 0;
    for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS)) {
      try {
        return await persist(batches, unclear >= UNCLEAR_TRIES);
      } catch (error) {
        if (!isOutage(error)) throw error;
        unclear = mayBeTheData(error) ? unclear + 1 : 0;
        if (stopping.signal.aborted) throw new Stopping();
        log.warn({ batches: batches.length, backoffMs, error: describeError(error) }, 'The database did not take captures; trying again');
      }
      const jitter = 0.5 + Math.random() / 2;
      await sleep(backoffMs * jitter, undefined, { signal: stopping.signal }).catch(() => {
        throw new Stopping();
      });
    }
  }

  return {
    commit: (batch) => group.submit(batch),
    stop: () => stopping.abort(),
  };
}
