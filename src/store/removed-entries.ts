import type { Knex } from 'knex';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import { userKey } from './users.ts';

export interface EntryKey {
  id: Buffer;
  endpoint_id: Buffer;
}

/* What goes with entries that are deleted. `userId` is the owner of all of them; the sweep names none. */

/** Removes the links to entries. Looks in two steps, because endpoints times entries would be too many ranges. */
export async function removeShares(trx: Knex, entries: readonly EntryKey[], userId?: string): Promise<void> {
  const removed = new Set(entries.map(({ id }) => bytesToId(id)));
  const shares = await trx('shares')
    .whereIn('endpoint_id', endpointKeys(entries))
    .modify(ownedBy, userId)
    .whereNotNull('request_id')
    .select<{ id: Buffer; request_id: Buffer }[]>('id', 'request_id');
  const ids = shares.filter(({ request_id }) => removed.has(bytesToId(request_id))).map(({ id }) => id);
  if (ids.length > 0) await trx('shares').whereIn('id', ids).modify(ownedBy, userId).delete();
}

/** Subtracts entries from the counts of their endpoints, which the transaction has locked. */
export async function subtractStored(trx: Knex, entries: readonly EntryKey[], userId?: string): Promise<void> {
  const perEndpoint = [...countsOf(entries)].map(([endpointId, count]) => [idToBytes(endpointId), count] as const);
  await endpointsByKey(trx)
    .whereIn(
      'id',
      perEndpoint.map(([key]) => key),
    )
    .modify(ownedBy, userId)
    .update({
      stored_count: trx.raw(
        `stored_count - CASE id ${'WHEN ? THEN ? '.repeat(perEndpoint.length)}END`,
        perEndpoint.flat(),
      ),
    });
}

/** The keys of their endpoints, each once. */
export function endpointKeys(entries: readonly EntryKey[]): Buffer[] {
  return [...countsOf(entries).keys()].map(idToBytes);
}

/** Endpoints for statements that lock several of them by id: other plans lock foreign rows, out of order. */
export function endpointsByKey(trx: Knex): Knex.QueryBuilder {
  return trx(trx.raw('endpoints FORCE INDEX (PRIMARY)') as unknown as string);
}

function ownedBy(query: Knex.QueryBuilder, userId: string | undefined): void {
  if (userId !== undefined) void query.where('user_id', userKey(userId));
}

function countsOf(entries: readonly EntryKey[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { endpoint_id } of entries) {
    const endpointId = bytesToId(endpoint_id);
    counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
  }
  return counts;
}
