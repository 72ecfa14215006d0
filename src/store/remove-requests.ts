import type { Knex } from 'knex';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import { endpointsByKey, removeShares, subtractStored, type EntryKey } from './removed-entries.ts';
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
    const locked = await endpointsByKey(trx)
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
    const removed = await deleteOwned(
      trx,
      userId,
      entries.map(({ id }) => id),
    );
    await removeShares(trx, entries, userId);
    await subtractStored(trx, entries, userId);
    return removed;
  });
}

/** Those of the entries that belong to locked endpoints: nothing else changes them until the transaction ends. */
async function entriesOf(trx: Knex, userId: string, locked: Buffer[], keys: Buffer[]): Promise<EntryKey[]> {
  const lockedIds = new Set(locked.map(bytesToId));
  const entries = await ownedBy(trx, userId)
    .whereIn('requests.id', keys)
    .select<EntryKey[]>('requests.id', 'requests.endpoint_id');
  return entries.filter(({ endpoint_id }) => lockedIds.has(bytesToId(endpoint_id)));
}

/**
 * By key, and the endpoints by a join: with a list of them servers read pages of their other entries to choose an index
 * (173 from the disk for 20 entries), and a subquery would lock others of the user's, out of order.
 */
async function deleteOwned(trx: Knex, userId: string, keys: Buffer[]): Promise<number> {
  const [{ affectedRows }] = (await trx.raw(
    `DELETE requests FROM requests FORCE INDEX (PRIMARY)
     STRAIGHT_JOIN endpoints ON endpoints.id = requests.endpoint_id
     WHERE requests.id IN (${keys.map(() => '?').join(',')}) AND endpoints.user_id = ?`,
    [...keys, userKey(userId)],
  )) as [{ affectedRows: number }];
  return affectedRows;
}
