import type { Knex } from 'knex';
import { bytesToId, firstIdAt, idToBytes } from '../domain/ids.ts';
import { userIdOf } from './users.ts';

const LAST_KEY = Buffer.alloc(16, 0xff);

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

/** Entries of one endpoint to delete: those before `before` (Unix milliseconds, null = all of them). */
export interface OldEntries {
  endpointId: Buffer;
  before: number | null;
}

/** How many rows a chunk deleted, the key after which the next one starts, and whether there may be more. */
export interface DeletedChunk {
  deleted: number;
  last: Buffer;
  full: boolean;
}

/** Deletes up to `limit` entries of a deleted endpoint after a key; its links and its row in `purges` go at the end. */
export async function purgeChunk(db: Knex, endpointId: Buffer, after: Buffer, limit: number): Promise<DeletedChunk> {
  const chunk = await deleteEntries(db, { endpointId, before: null }, after, limit);
  if (chunk.full) return chunk;
  await db('shares').where({ endpoint_id: endpointId }).delete();
  await db('purges').where({ endpoint_id: endpointId }).delete();
  return chunk;
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

/** Deletes up to `limit` old entries of an endpoint after a key. */
export async function retireChunk(db: Knex, entries: OldEntries, after: Buffer, limit: number): Promise<DeletedChunk> {
  return db.transaction(async (trx) => {
    // Locks the endpoint first, like every other change of its entries.
    await trx('endpoints').where({ id: entries.endpointId }).forUpdate().first('id');
    const chunk = await deleteEntries(trx, entries, after, limit);
    await trx('endpoints').where({ id: entries.endpointId }).decrement('stored_count', chunk.deleted);
    return chunk;
  });
}

/**
 * Finds the keys in the index only, and deletes by them. One statement with a limit would sort all rows of the endpoint
 * for each chunk, and a search from the first key would read deleted rows again: with a million entries neither
 * finished in ten minutes.
 */
async function deleteEntries(
  db: Knex,
  { endpointId, before }: OldEntries,
  after: Buffer,
  limit: number,
): Promise<DeletedChunk> {
  const upTo = before === null ? LAST_KEY : idToBytes(firstIdAt(before));
  const sql =
    'SELECT id FROM requests FORCE INDEX (requests_endpoint_id) WHERE endpoint_id = ? AND id > ? AND id < ? ORDER BY id LIMIT ?';
  const [rows] = (await db.raw(sql, [endpointId, after, upTo, limit])) as [{ id: Buffer }[]];
  const keys = rows.map(({ id }) => id);
  if (keys.length > 0) {
    await db('requests').whereIn('id', keys).delete();
    await db('shares').where('endpoint_id', endpointId).whereIn('request_id', keys).delete();
  }
  return { deleted: keys.length, last: keys.at(-1) ?? after, full: keys.length === limit };
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
