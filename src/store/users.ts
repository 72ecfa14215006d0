import type { Knex } from 'knex';

/** Remembers the plan that a user's token named; creates the user when it is new. */
export async function savePlan(db: Knex, userId: string, plan: string, now: Date): Promise<void> {
  await db('users')
    .insert({ id: userKey(userId), plan, created_at: now, updated_at: now })
    .onConflict('id')
    .merge({ plan, updated_at: now });
}

/**
 * Locks a user's row until the end of the transaction; creates the user when it is new, and leaves the plan alone when
 * not.
 */
export async function lockUser(trx: Knex.Transaction, userId: string, plan: string, now: Date): Promise<void> {
  const id = userKey(userId);
  await trx('users').insert({ id, plan, created_at: now, updated_at: now }).onConflict('id').merge({ id });
}

/** Plan name of a user, or undefined for a stranger. */
export async function findPlan(db: Knex, userId: string): Promise<string | undefined> {
  const row = await db('users')
    .where({ id: userKey(userId) })
    .first<{ plan: string } | undefined>('plan');
  return row?.plan;
}

/** Users with their plans behind a key, in key order. */
export async function listUserPlans(db: Knex, after: Buffer, limit: number): Promise<{ id: Buffer; plan: string }[]> {
  return db('users')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .select<{ id: Buffer; plan: string }[]>('id', 'plan');
}

export function userIdOf(key: Buffer): string {
  return key.toString('utf8');
}

/** A user id as the bytes that are stored: two ids are the same user only if they are the same bytes. */
export function userKey(userId: string): Buffer {
  return Buffer.from(userId, 'utf8');
}
