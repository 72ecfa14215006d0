import { createGroupCommit } from '../group-commit.ts';
import { describeError, type Log } from '../log.ts';
import { Stopping, type Retry } from './retry.ts';
import type { CaptureBatch, Persisted } from './persist.ts';

/** Limits of one transaction: it stays short, and repeating it stays cheap. */
const TRANSACTION_MAX_JOBS = 256;
const TRANSACTION_MAX_BYTES = 4 * 1024 * 1024;
const OVERLAPPING_TRANSACTIONS = 2;

export interface Committer {
  /** @throws Stopping when the worker stops; otherwise an error that this batch itself causes */
  commit(batch: CaptureBatch): Promise<void>;
}

export interface CommitterOptions {
  retry: Retry;
  stopping: AbortSignal;
  log: Log;
  /** With `lastResort` an unclear error is treated as the fault of a row. */
  persist: (batches: CaptureBatch[], lastResort: boolean) => Promise<Persisted>;
  broadcast: (persisted: Persisted) => Promise<unknown>;
}

interface Failure {
  error: unknown;
}

/**
 * Group commit of jobs: those that arrive during a transaction share the next one. Outages of the database are waited
 * out here, with a capped back-off, so they cost no job an attempt.
 */
export function createCommitter({ persist, broadcast, retry, stopping, log }: CommitterOptions): Committer {
  const group = createGroupCommit<CaptureBatch, Failure | undefined>({
    maxItems: TRANSACTION_MAX_JOBS,
    maxBytes: TRANSACTION_MAX_BYTES,
    maxInFlight: OVERLAPPING_TRANSACTIONS,
    sizeOf: ({ captures }) => captures.reduce((sum, { body }) => sum + 1024 + body.length, 0),
    flush: commitAll,
  });

  /**
   * Isolates failing batches by halving. The others are stored; some of their events are published twice.
   * @throws Stopping, which also concerns the jobs that wait behind these batches
   */
  async function commitAll(batches: CaptureBatch[]): Promise<(Failure | undefined)[]> {
    try {
      await storeAndBroadcast(batches);
      return batches.map(() => undefined);
    } catch (error) {
      if (error instanceof Stopping) throw error;
      if (batches.length === 1) return [{ error }];
      if (stopping.aborted) throw new Stopping();
      const failed = { batches: batches.length, error: describeError(error) };
      log.warn(failed, 'Batches failed together; they are tried in halves');
    }
    const middle = batches.length >> 1;
    const first = await commitAll(batches.slice(0, middle));
    return [...first, ...(await commitAll(batches.slice(middle)))];
  }

  async function storeAndBroadcast(batches: CaptureBatch[]): Promise<void> {
    const store = (lastResort: boolean): Promise<Persisted> => persist(batches, lastResort);
    const persisted = await retry(store, 'The database did not take captures; trying again', batches.length);
    const { refused } = persisted;
    if (refused.length > 0) {
      const codes = [...new Set(refused.map(({ errorCode }) => errorCode))];
      log.error({ captures: refused.length, codes }, 'The database refused captures; they are in dead_letters');
    }
    const publish = (): Promise<unknown> => broadcast(persisted);
    await retry(publish, 'The database did not return the sequence of stored captures; trying again', batches.length);
  }

  return {
    async commit(batch) {
      const failure = await group.submit(batch);
      if (failure !== undefined) throw failure.error;
    },
  };
}
