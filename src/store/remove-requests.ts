import type { Knex } from 'knex';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import { ownedBy } from './requests.ts';
import { userKey } from './users.ts';

/**
 * Locks the endpoints first, in the worker's order, to avoid deadlocks. The number of statements does not depend on the
 * number of entries or endpoints. Returns the number of entries.
 */
export async function removeRequests(db: Knex, userId: string, ids: string[]): Promise<number> {
  const keys = ids.map(idToBytes);
  const found = await ownedBy(db, userId)
    .whereIn('requests.id', keys)
    .distinct<{ endpoint_id: Buffer }[]>('requests.endpoint_id');
  if (found.length === 0) return 0;
  return db.transaction(async (trx) => {
    const locked = await trx('endpoints')
      .where('user_id', userKey(userId))
      .whereIn(
        'id',
        found.map(({ endpoint_id }) => endpoint_id),
      )
      .orderBy('id')
      .forUpdate()
      .pluck<Buffer[]>('id');
    const entries = await entriesOf(trx, userId, locked, keys);
    if (entries.length === 0) return 0;
    const entryKeys = entries.map(({ id }) => id);
    const removed = await trx('requests')
      .whereIn('id', entryKeys)
      .whereIn('endpoint_id', ownedIds(trx, userId))
      .delete();
    await removeShares(trx, userId, locked, entryKeys);
    await subtractStored(trx, userId, entries);
    return removed;
  });
}

interface EntryKey {
  id: Buffer;
  endpoint_id: Buffer;
}

/** Those of the entries that belong to locked endpoints: nothing else changes them until the transaction ends. */
async function entriesOf(trx: Knex, userId: string, locked: Buffer[], keys: Buffer[]): Promise<EntryKey[]> {
  const lockedIds = new Set(locked.map(bytesToId));
  const entries = await ownedBy(trx, userId)
    .whereIn('requests.id', keys)
    .select<EntryKey[]>('requests.id', 'requests.endpoint_id');
  return entries.filter(({ endpoint_id }) => lockedIds.has(bytesToId(endpoint_id)));
}

/** Removes the links to entries. Looks in two steps, because endpoints times entries would be too many ranges. */
async function removeShares(trx: Knex, userId: string, endpointKeys: Buffer[], entryKeys: Buffer[]): Promise<void> {
  const removed = new Set(entryKeys.map(bytesToId));
  const shares = await trx('shares')
    .whereIn('endpoint_id', endpointKeys)
    .where('user_id', userKey(userId))
    .whereNotNull('request_id')
    .select<{ id: Buffer; request_id: Buffer }[]>('id', 'request_id');
  const ids = shares.filter(({ request_id }) => removed.has(bytesToId(request_id))).map(({ id }) => id);
  if (ids.length > 0)
    await trx('shares')
      .whereIn('id', ids)
      .where({ user_id: userKey(userId) })
      .delete();
}

async function subtractStored(trx: Knex, userId: string, entries: EntryKey[]): Promise<void> {
  const counts = new Map<string, number>();
  for (const { endpoint_id } of entries) {
    const endpointId = bytesToId(endpoint_id);
    counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
  }
  const perEndpoint = [...counts].map(([endpointId, count]) => [idToBytes(endpointId), count] as const);
  // By primary key only: other plans lock foreign rows, out of order.
  await trx.raw(
    `UPDATE endpoints FORCE INDEX (PRIMARY)
     SET stored_count = stored_count - CASE id ${'WHEN ? THEN ? '.repeat(perEndpoint.length)}END
     WHERE id IN (${perEndpoint.map(() => '?').join(',')}) AND user_id = ?`,
    [...perEndpoint.flat(), ...perEndpoint.map(([key]) => key), userKey(userId)],
  );
}

function ownedIds(db: Knex, userId: string): Knex.QueryBuilder {
  return db('endpoints').where('user_id', userKey(userId)).select('id');
}
