import type { Pool } from 'mysql2/promise';
import type { DecodedCapture } from '../domain/capture-job.ts';
import { timeOfId } from '../domain/ids.ts';
import {
  beginBatches,
  commitBatches,
  findStoredBatches,
  insertRequests,
  type Addition,
  type NumberedCapture,
  type Usage,
} from '../store/capture-batches.ts';
import { onConnection, type Connection } from '../store/database.ts';
import { insertDeadLetters, type RefusedCapture } from '../store/dead-letters.ts';
import { codeOf, isDuplicateKey, isRefusedData } from '../store/sql-errors.ts';

/** The captures of one job; `id` is the job's and identifies all its runs. */
export interface CaptureBatch {
  id: string;
  day: string;
  captures: readonly DecodedCapture[];
}

export interface Persisted {
  stored: NumberedCapture[];
  refused: RefusedCapture[];
  /** Captures of batches that an earlier run had stored. */
  repeated: DecodedCapture[];
  /** Captures that are not stored because their endpoint has no row. */
  orphaned: DecodedCapture[];
}

/** Whether an error of an INSERT is the fault of a row in it. */
type IsRefused = (error: unknown) => boolean;

type BatchedCapture = DecodedCapture & { batchId: string };

/**
 * Stores batches in one transaction, each at most once: a batch that is in the ledger is skipped, so a job may run any
 * number of times.
 * @param isRefused which errors of an INSERT are a row's fault; such rows go to `dead_letters`
 * @throws the driver's error when the database cannot store them now. Nothing is stored then; if the connection broke
 *   at the commit, all may be stored, which the next run detects
 */
export async function persistBatches(
  pool: Pool,
  batches: readonly CaptureBatch[],
  isRefused = isRefusedData,
): Promise<Persisted> {
  try {
    return await persistTogether(pool, batches, isRefused);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    const stored = await findStoredBatches(
      pool,
      batches.map(({ id }) => id),
    );
    // Another unique key than the ledger's: an operator has to see this error.
    if (stored.size === 0) throw error;
    const repeated = batches.filter(({ id }) => stored.has(id)).flatMap(({ captures }) => captures);
    const rest = batches.filter(({ id }) => !stored.has(id));
    const persisted =
      rest.length === 0
        ? { stored: [], refused: [], repeated: [], orphaned: [] }
        : await persistBatches(pool, rest, isRefused);
    return { ...persisted, repeated: [...repeated, ...persisted.repeated] };
  }
}

/** Most transactions have no refused row, so the first attempt does without a savepoint. */
async function persistTogether(pool: Pool, batches: readonly CaptureBatch[], isRefused: IsRefused): Promise<Persisted> {
  try {
    return await onConnection(pool, (connection) => persist(connection, batches, insertAll));
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  return onConnection(pool, (connection) =>
    persist(connection, batches, (...rows) => insertAcceptable(...rows, isRefused)),
  );
}

type Insert = (
  connection: Connection,
  captures: readonly BatchedCapture[],
  counts: ReadonlyMap<string, number>,
) => Promise<Pick<Persisted, 'stored' | 'refused'>>;

async function persist(connection: Connection, batches: readonly CaptureBatch[], insert: Insert): Promise<Persisted> {
  const captures = batches
    .flatMap(({ id, captures }) => captures.map((capture) => ({ ...capture, batchId: id })))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const counts = await beginBatches(
    connection,
    batches.map(({ id }) => id),
    [...new Set(captures.map(({ endpointId }) => endpointId))],
  );
  const kept = captures.filter(({ endpointId }) => counts.has(endpointId));
  const { stored, refused } = await insert(connection, kept, counts);
  await insertDeadLetters(connection, refused, new Date());
  await commitBatches(connection, additions(stored), usageOf(batches));
  const orphaned = captures.filter(({ endpointId }) => !counts.has(endpointId));
  return { stored, refused, repeated: [], orphaned };
}

const insertAll: Insert = async (connection, captures, counts) => {
  const stored = numberCaptures(captures, counts);
  await insertRequests(connection, stored);
  return { stored, refused: [] };
};

/** For rows of which the database has refused one: inserts those that it accepts, and isolates the others. */
async function insertAcceptable(
  connection: Connection,
  captures: readonly BatchedCapture[],
  counts: ReadonlyMap<string, number>,
  isRefused: IsRefused,
): Promise<Pick<Persisted, 'stored' | 'refused'>> {
  await connection.query('SAVEPOINT before_rows');
  const refused = await findRefused(connection, captures, counts, isRefused);
  const refusedIds = new Set(refused.map(({ capture }) => capture.id));
  // Numbered again, so that the sequence has no gaps in place of refused captures.
  const stored = numberCaptures(
    captures.filter(({ id }) => !refusedIds.has(id)),
    counts,
  );
  await insertRequests(connection, stored);
  return { stored, refused };
}

/** Finds refused captures by halving; the trial inserts are rolled back. */
async function findRefused(
  connection: Connection,
  captures: readonly BatchedCapture[],
  counts: ReadonlyMap<string, number>,
  isRefused: IsRefused,
): Promise<RefusedCapture[]> {
  const error = await refusalOf(connection, numberCaptures(captures, counts), isRefused);
  if (error === undefined) return [];
  const [first] = captures;
  if (first !== undefined && captures.length === 1) {
    return [{ capture: first, batchId: first.batchId, errorCode: codeOf(error) }];
  }
  const middle = captures.length >> 1;
  const left = await findRefused(connection, captures.slice(0, middle), counts, isRefused);
  return [...left, ...(await findRefused(connection, captures.slice(middle), counts, isRefused))];
}

async function refusalOf(
  connection: Connection,
  captures: readonly NumberedCapture[],
  isRefused: IsRefused,
): Promise<(Error & { code?: string }) | undefined> {
  let refusal: Error | undefined;
  try {
    await insertRequests(connection, captures);
  } catch (error) {
    if (!isRefused(error)) throw error;
    refusal = error as Error;
  }
  await connection.query('ROLLBACK TO SAVEPOINT before_rows');
  return refusal;
}

/** Gives each capture the number after its endpoint's last, in order of arrival. */
function numberCaptures(captures: readonly DecodedCapture[], counts: ReadonlyMap<string, number>): NumberedCapture[] {
  const last = new Map(counts);
  return captures.map((capture) => {
    const seq = (last.get(capture.endpointId) ?? 0) + 1;
    last.set(capture.endpointId, seq);
    return { ...capture, seq };
  });
}

function additions(stored: readonly NumberedCapture[]): Map<string, Addition> {
  const added = new Map<string, Addition>();
  for (const { endpointId, id } of stored) {
    // Captures are in order of arrival, so the last one of an endpoint is its latest.
    added.set(endpointId, { count: (added.get(endpointId)?.count ?? 0) + 1, lastAt: new Date(timeOfId(id)) });
  }
  return added;
}

/** Every accepted capture counts for its owner's day, even when its endpoint is deleted or its row was refused. */
function usageOf(batches: readonly CaptureBatch[]): Usage[] {
  const usage = new Map<string, Usage>();
  for (const { day, captures } of batches) {
    for (const { userId } of captures) {
      const key = `${day} ${userId}`;
      const entry = usage.get(key) ?? { userId, day, count: 0 };
      entry.count += 1;
      usage.set(key, entry);
    }
  }
  return [...usage.values()];
}
