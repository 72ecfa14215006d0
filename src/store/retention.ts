import type { Knex } from 'knex';
import { bytesToId, firstIdAt, idToBytes } from '../domain/ids.ts';
import { endpointKeys, endpointsByKey, removeShares, subtractStored, type EntryKey } from './removed-entries.ts';
import { userIdOf } from './users.ts';
import { FIRST_KEY, LAST_KEY } from './window.ts';

/** Bodies of one delete: a server with a binary log writes all of them to it, while the endpoints are locked. */
const MAX_CHUNK_BYTES = 32 * 1024 * 1024;

/*
 * The statements of the sweep delete in chunks of rows, in key order: short transactions leave room for captures and
 * reads. They concern all owners, so they have no owner predicate.
 */

/** Ids of endpoints that expired before an instant, longest expired first. */
export async function listExpired(db: Knex, before: Date, limit: number): Promise<string[]> {
  const ids = await db('endpoints').where('expires_at', '<', before).orderBy('expires_at').limit(limit).pluck('id');
  return ids.map((id) => bytesToId(id as Buffer));
}

/** Removes an expired endpoint and adds a row to `purges` for its entries. */
export async function removeExpired(db: Knex, id: string, before: Date, now: Date): Promise<void> {
  await db.transaction(async (trx) => {
    const removed = await trx('endpoints')
      .where({ id: idToBytes(id) })
      .andWhere('expires_at', '<', before)
      .delete();
    if (removed > 0) await trx('purges').insert({ endpoint_id: idToBytes(id), created_at: now });
  });
}

/** Ids of deleted endpoints whose entries still have to be purged, oldest first. */
export async function listPurges(db: Knex, limit: number): Promise<Buffer[]> {
  return db('purges').orderBy(['created_at', 'endpoint_id']).limit(limit).pluck('endpoint_id');
}

/** Entries of an endpoint to delete: those with ids between the two. */
export interface DueEntries {
  endpointId: Buffer;
  after: Buffer;
  upTo: Buffer;
}

/** Those that are older than `before` (Unix milliseconds, null = all of them). */
export function dueEntries(endpointId: Buffer, before: number | null): DueEntries {
  return { endpointId, after: FIRST_KEY, upTo: before === null ? LAST_KEY : idToBytes(firstIdAt(before)) };
}

/** How many rows a chunk deleted, and what is left to delete. */
export interface DeletedChunk {
  deleted: number;
  left: DueEntries[];
}

/** Deletes up to `limit` entries of deleted endpoints. Their links and rows in `purges` go when no entry is left. */
export async function purgeChunk(db: Knex, due: readonly DueEntries[], limit: number): Promise<DeletedChunk> {
  const { found, left } = await findEntries(db, due, limit);
  await deleteEntries(db, found);
  const unfinished = new Set(left.map(({ endpointId }) => bytesToId(endpointId)));
  const finished = due.map(({ endpointId }) => endpointId).filter((id) => !unfinished.has(bytesToId(id)));
  if (finished.length > 0) {
    await db('shares').whereIn('endpoint_id', finished).delete();
    await db('purges').whereIn('endpoint_id', finished).delete();
  }
  return { deleted: found.length, left };
}

/** An endpoint with its owner's plan and the id of its oldest entry. */
export interface OldestEntry {
  endpointId: Buffer;
  userId: string;
  plan: string;
  oldest: Buffer | null;
}

/**
 * The next endpoints in key order that have entries, with the first key of each in the index: MIN would read all of
 * them, without the hint the server looks for it among the entries of all endpoints, and MySQL sorts them where the
 * order does not name the whole key.
 */
export async function listOldestEntries(db: Knex, afterEndpoint: Buffer, limit: number): Promise<OldestEntry[]> {
  const rows = await db('endpoints')
    .join('users', 'users.id', 'endpoints.user_id')
    .where('endpoints.id', '>', afterEndpoint)
    .andWhere('endpoints.stored_count', '>', 0)
    .orderBy('endpoints.id')
    .limit(limit)
    .select<(Omit<OldestEntry, 'userId'> & { user: Buffer })[]>(
      'endpoints.id as endpointId',
      'endpoints.user_id as user',
      'users.plan as plan',
      db.raw(`(SELECT requests.id FROM requests FORCE INDEX (requests_endpoint_id)
        WHERE requests.endpoint_id = endpoints.id ORDER BY requests.endpoint_id, requests.id LIMIT 1) AS oldest`),
    );
  return rows.map(({ user, ...row }) => ({ ...row, userId: userIdOf(user) }));
}

/**
 * Deletes up to `limit` old entries, in one transaction for all their endpoints: where each endpoint has one entry that
 * is due, a transaction each cost ten times what its capture did.
 */
export async function retireChunk(db: Knex, due: readonly DueEntries[], limit: number): Promise<DeletedChunk> {
  const { found, left } = await findEntries(db, due, limit);
  if (found.length === 0) return { deleted: 0, left };
  return db.transaction(async (trx) => {
    // Locks the endpoints first, in the worker's order, like every other change of their entries.
    const locked = await endpointsByKey(trx)
      .whereIn('id', endpointKeys(found))
      .orderBy('id')
      .forUpdate()
      .pluck<Buffer[]>('id');
    const lockedIds = new Set(locked.map(bytesToId));
    const stored = await trx('requests')
      .whereIn(
        'id',
        found.map(({ id }) => id),
      )
      .select<EntryKey[]>('id', 'endpoint_id');
    const entries = stored.filter(({ endpoint_id }) => lockedIds.has(bytesToId(endpoint_id)));
    await deleteEntries(trx, entries);
    if (entries.length > 0) await subtractStored(trx, entries);
    return { deleted: entries.length, left };
  });
}

/**
 * Finds the keys in the index only. A delete with a limit would sort all rows of the endpoint for each chunk, and a
 * search from the first key would read deleted rows again: with a million entries neither finished in ten minutes.
 */
async function findEntries(
  db: Knex,
  due: readonly DueEntries[],
  limit: number,
): Promise<{ found: EntryKey[]; left: DueEntries[] }> {
  const sorted = due.toSorted((a, b) => Buffer.compare(a.endpointId, b.endpointId));
  const ranges = sorted.map(() => '(endpoint_id = ? AND id > ? AND id < ?)').join(' OR ');
  const sql = `SELECT id, endpoint_id FROM requests FORCE INDEX (requests_endpoint_id) WHERE ${ranges}
    ORDER BY endpoint_id, id LIMIT ?`;
  const values = sorted.flatMap(({ endpointId, after, upTo }) => [endpointId, after, upTo]);
  const [keys] = (await db.raw(sql, [...values, limit])) as [EntryKey[]];
  const found = keys.length === 0 ? keys : await withinBytes(db, keys);
  const last = found.at(-1);
  if (last === undefined || (found.length === keys.length && keys.length < limit)) return { found, left: [] };
  const left = sorted.filter(({ endpointId }) => Buffer.compare(endpointId, last.endpoint_id) >= 0);
  return { found, left: left.map((range, i) => (i === 0 ? { ...range, after: last.id } : range)) };
}

/** As many of the first entries as have bodies of `MAX_CHUNK_BYTES` together, at least one. */
async function withinBytes(db: Knex, keys: EntryKey[]): Promise<EntryKey[]> {
  const rows = await db('requests')
    .whereIn(
      'id',
      keys.map(({ id }) => id),
    )
    .select<{ id: Buffer; size: number }[]>('id', 'size');
  const sizes = new Map(rows.map(({ id, size }) => [bytesToId(id), size]));
  let bytes = 0;
  const end = keys.findIndex(({ id }, i) => (bytes += sizes.get(bytesToId(id)) ?? 0) > MAX_CHUNK_BYTES && i > 0);
  return end === -1 ? keys : keys.slice(0, end);
}

async function deleteEntries(db: Knex, entries: readonly EntryKey[]): Promise<void> {
  if (entries.length === 0) return;
  const keys = entries.map(({ id }) => id);
  await db('requests').whereIn('id', keys).delete();
  await removeShares(db, entries);
}

/** Ids of batches that were stored longer ago than so many seconds (by the clock of the database), in that order. */
export async function listOldBatches(db: Knex, seconds: number, limit: number, offset: number): Promise<string[]> {
  const sql = `SELECT id FROM capture_batches WHERE stored_at < NOW(3) - INTERVAL ? SECOND
    ORDER BY stored_at, id LIMIT ? OFFSET ?`;
  const [rows] = (await db.raw(sql, [seconds, limit, offset])) as [{ id: Buffer }[]];
  return rows.map(({ id }) => bytesToId(id));
}

/** Removes batches from the ledger: a job of one of them would be stored again. */
export async function removeBatches(db: Knex, batchIds: readonly string[]): Promise<void> {
  if (batchIds.length > 0) await db('capture_batches').whereIn('id', batchIds.map(idToBytes)).delete();
}

/** Deletes up to `limit` share links that ended before an instant; returns how many. */
export async function removeEndedShares(db: Knex, before: Date, limit: number): Promise<number> {
  const ids = await db('shares').where('expires_at', '<', before).orderBy('expires_at').limit(limit).pluck('id');
  return ids.length === 0 ? 0 : db('shares').whereIn('id', ids).andWhere('expires_at', '<', before).delete();
}
