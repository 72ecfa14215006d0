import { createGroupCommit } from '../group-commit.ts';
import { describeError } from '../log.ts';
import { createPatience, Stopping, type PatienceOptions } from './patience.ts';
import type { CaptureBatch, Persisted } from './persist.ts';

/** Jobs and bytes of one transaction at most: it stays short, and a retry of it cheap. */
const TRANSACTION_MAX_JOBS = 256;
const TRANSACTION_MAX_BYTES = 4 * 1024 * 1024;
const OVERLAPPING_TRANSACTIONS = 2;

export interface Committer {
  /**
   * Resolves when the batch is in the database and its captures were shown, however long the database is away.
   * @throws Stopping after `stop`; otherwise only what a job itself is guilty of
   */
  commit(batch: CaptureBatch): Promise<void>;
  /** Ends waiting for a database that does not answer. Transactions that run are finished. */
  stop(): void;
}

export interface CommitterOptions extends Omit<PatienceOptions, 'stopping'> {
  /** `lastResort`: what may be a row's fault is taken for it. */
  persist: (batches: CaptureBatch[], lastResort: boolean) => Promise<Persisted>;
  /** Shows what is stored to its followers. */
  broadcast: (persisted: Persisted) => Promise<unknown>;
}

/** What a batch failed with. */
interface Failure {
  error: unknown;
}

/**
 * Group commit of jobs: those that arrive while a transaction is in flight share the next one.
 * An outage of the database is waited out here, with a capped back-off, so that it costs no job an attempt.
 */
export function createCommitter({ persist, broadcast, log, ...errors }: CommitterOptions): Committer {
  const stopping = new AbortController();
  const untilAnswered = createPatience({ ...errors, log, stopping: stopping.signal });
  const group = createGroupCommit<CaptureBatch, Failure | undefined>({
    maxItems: TRANSACTION_MAX_JOBS,
    maxBytes: TRANSACTION_MAX_BYTES,
    maxInFlight: OVERLAPPING_TRANSACTIONS,
    sizeOf: ({ captures }) => captures.reduce((sum, { body }) => sum + 1024 + body.length, 0),
    flush: settle,
  });

  /**
   * Finds the batches that fail by halving; the others are stored and shown, some of them shown twice.
   *
   * @throws Stopping, which concerns what waits behind these batches as well
   */
  async function settle(batches: CaptureBatch[]): Promise<(Failure | undefined)[]> {
    try {
      await storeAndShow(batches);
      return batches.map(() => undefined);
    } catch (error) {
      if (error instanceof Stopping) throw error;
      if (batches.length === 1) return [{ error }];
      if (stopping.signal.aborted) throw new Stopping();
      const failed = { batches: batches.length, error: describeError(error) };
      log.warn(failed, 'Batches failed together; they are tried in halves');
    }
    const middle = batches.length >> 1;
    const first = await settle(batches.slice(0, middle));
    return [...first, ...(await settle(batches.slice(middle)))];
  }

  async function storeAndShow(batches: CaptureBatch[]): Promise<void> {
    const store = (lastResort: boolean): Promise<Persisted> => persist(batches, lastResort);
    const persisted = await untilAnswered(store, 'The database did not take captures; trying again', batches.length);
    const { refused } = persisted;
    if (refused.length > 0) {
      const codes = [...new Set(refused.map(({ errorCode }) => errorCode))];
      log.error({ captures: refused.length, codes }, 'The database refused captures; they are in dead_letters');
    }
    const show = (): Promise<unknown> => broadcast(persisted);
    await untilAnswered(show, 'The database did not tell the places of stored captures; trying again', batches.length);
  }

  return {
    async commit(batch) {
      const failure = await group.submit(batch);
      if (failure !== undefined) throw failure.error;
    },
    stop: () => stopping.abort(),
  };
}
