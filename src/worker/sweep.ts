import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { firstIdAt, idToBytes } from '../domain/ids.ts';
import { DAY_MS, retentionCutoff } from '../domain/time.ts';
import type { Plans } from '../plans.ts';
import type { UserPlan } from '../redis/plan-changes.ts';
import {
  dueEntries,
  removeBatches,
  listExpired,
  listOldBatches,
  listOldestEntries,
  listPurges,
  purgeChunk,
  removeEndedShares,
  removeExpired,
  retireChunk,
  type DeletedChunk,
  type DueEntries,
  type OldestEntry,
} from '../store/retention.ts';
import { FIRST_KEY } from '../store/window.ts';

const CHUNK_ROWS = 500;
const ENDPOINTS_AT_ONCE = 200;
const REST_FACTOR = 3;

/** After this time a batch without a job does not come back, not even with a restored Redis. */
const LEDGER_KEEP_SECONDS = 7 * 86_400;

/** For so long the holder of a share link learns that it has ended; then its token is unknown. */
const ENDED_SHARE_KEEP_MS = 7 * DAY_MS;

export interface SweepOptions {
  db: Knex;
  plans: Plans;
  /** Unix milliseconds. */
  now: number;
  expiredGraceMs: number;
  stopCaptures: (endpointId: string) => Promise<void>;
  /** Finds users whose plan in Redis differed from the database's; from now on the latter holds. */
  findDisputed: (users: UserPlan[]) => Promise<Set<string>>;
  /** Finds batches whose jobs are in the queue, in any state: they may run again. */
  findQueued: (batchIds: string[]) => Promise<string[]>;
  /** Where the last sweep ran out of time, as the key of an endpoint; kept between sweeps. */
  cursor: { read: () => Promise<Buffer | undefined>; write: (endpointId: Buffer | undefined) => Promise<void> };
  isOver: () => boolean;
}

export interface SweepResult {
  expired: number;
  purged: number;
  retired: number;
  pruned: number;
  unshared: number;
  done: boolean;
}

/** Removes what expiry, deletes and age have made unreachable, in chunks, until `isOver`. */
export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const { isOver } = options;
  const result: SweepResult = { expired: 0, purged: 0, retired: 0, pruned: 0, unshared: 0, done: false };
  await removeExpiredEndpoints(options, result);
  await purgeDeletedEndpoints(options, result);
  await retireOldEntries(options, result);
  await removeOldBatches(options, result);
  await removeOldShares(options, result);
  result.done = !isOver();
  return result;
}

async function removeExpiredEndpoints(
  { db, now, expiredGraceMs, stopCaptures, isOver }: SweepOptions,
  result: SweepResult,
): Promise<void> {
  const before = new Date(now - expiredGraceMs);
  for (
    let ids = await listExpired(db, before, ENDPOINTS_AT_ONCE);
    ids.length > 0;
    ids = await listExpired(db, before, ENDPOINTS_AT_ONCE)
  ) {
    for (const id of ids) {
      if (isOver()) return;
      await stopCaptures(id);
      await removeExpired(db, id, before, new Date(now));
      result.expired += 1;
    }
  }
}

async function purgeDeletedEndpoints({ db, isOver }: SweepOptions, result: SweepResult): Promise<void> {
  for (
    let ids = await listPurges(db, ENDPOINTS_AT_ONCE);
    ids.length > 0;
    ids = await listPurges(db, ENDPOINTS_AT_ONCE)
  ) {
    const due = ids.map((id) => dueEntries(id, null));
    result.purged += await deleteDue(isOver, due, (left) => purgeChunk(db, left, CHUNK_ROWS));
    if (isOver()) return;
  }
}

/**
 * Visits all endpoints in key order; the next sweep continues with the page in which time ran out. Skips users whose plan was in
 * dispute: the database decides, but the user's next token may change it before the next sweep.
 */
async function retireOldEntries(options: SweepOptions, result: SweepResult): Promise<void> {
  const { db, cursor, isOver, findDisputed } = options;
  const disputed = new Set<string>();
  let last = (await cursor.read()) ?? FIRST_KEY;
  for (
    let page = await listOldestEntries(db, last, ENDPOINTS_AT_ONCE);
    page.length > 0;
    page = await listOldestEntries(db, last, ENDPOINTS_AT_ONCE)
  ) {
    const due = findDue(page, options);
    for (const userId of await findDisputed([...due.keys()])) disputed.add(userId);
    const entries = [...due].filter(([{ userId }]) => !disputed.has(userId)).map(([, dueOfOne]) => dueOfOne);
    result.retired += await deleteDue(isOver, entries, (left) => retireChunk(db, left, CHUNK_ROWS));
    if (isOver()) return cursor.write(last);
    last = (page.at(-1) as OldestEntry).endpointId;
  }
  await cursor.write(undefined);
}

/** The endpoints with entries past retention, and those entries. */
function findDue(page: readonly OldestEntry[], { plans, now }: SweepOptions): Map<OldestEntry, DueEntries> {
  const due = new Map<OldestEntry, DueEntries>();
  for (const entry of page) {
    // A plan that is not configured any more retires nothing, because that could not be undone.
    const cutoff = retentionCutoff(plans.get(entry.plan)?.retentionDays ?? null, now);
    if (cutoff !== null && entry.oldest !== null && Buffer.compare(entry.oldest, idToBytes(firstIdAt(cutoff))) < 0)
      due.set(entry, dueEntries(entry.endpointId, cutoff));
  }
  return due;
}

/** Goes by the time of storing, not of the id, because a job may wait for any time, in the queue or after a failure. */
async function removeOldBatches({ db, findQueued, isOver }: SweepOptions, result: SweepResult): Promise<void> {
  let kept = 0;
  result.pruned = await deleteInChunks(isOver, async () => {
    const ids = await listOldBatches(db, LEDGER_KEEP_SECONDS, CHUNK_ROWS, kept);
    const queued = new Set(await findQueued(ids));
    const forgotten = ids.filter((id) => !queued.has(id));
    await removeBatches(db, forgotten);
    kept += queued.size;
    return { deleted: forgotten.length, full: ids.length === CHUNK_ROWS };
  });
}

async function removeOldShares({ db, now, isOver }: SweepOptions, result: SweepResult): Promise<void> {
  const before = new Date(now - ENDED_SHARE_KEEP_MS);
  result.unshared = await deleteInChunks(isOver, async () => {
    const deleted = await removeEndedShares(db, before, CHUNK_ROWS);
    return { deleted, full: deleted === CHUNK_ROWS };
  });
}

/** Deletes entries of several endpoints in chunks; returns the number of rows. */
async function deleteDue(
  isOver: () => boolean,
  due: readonly DueEntries[],
  deleteChunk: (left: readonly DueEntries[]) => Promise<DeletedChunk>,
): Promise<number> {
  if (due.length === 0) return 0;
  let left = due;
  return deleteInChunks(isOver, async () => {
    const chunk = await deleteChunk(left);
    ({ left } = chunk);
    return { deleted: chunk.deleted, full: left.length > 0 };
  });
}

/**
 * Repeats a chunked delete until a chunk is not full, or `isOver`; returns the number of rows. After a chunk it pauses
 * for three times as long as that took: captures and reads come first.
 */
async function deleteInChunks(
  isOver: () => boolean,
  deleteChunk: () => Promise<{ deleted: number; full: boolean }>,
): Promise<number> {
  let total = 0;
  for (let full = true; full && !isOver();) {
    const start = performance.now();
    const chunk = await deleteChunk();
    total += chunk.deleted;
    ({ full } = chunk);
    if (full || chunk.deleted > 0) await sleep(REST_FACTOR * (performance.now() - start));
  }
  return total;
}
