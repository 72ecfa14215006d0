import type { Knex } from 'knex';

export async function savePlan(db: Knex, userId: string, plan: string, now: Date): Promise<void> {
  await db('users')
    .insert({ id: userKey(userId), plan, created_at: now, updated_at: now })
    .onConflict('id')
    .merge({ plan, updated_at: now });
}

/** Locks a user's row until the end of the transaction. Creates a new user, and leaves the plan of an existing one. */
export async function lockUser(trx: Knex.Transaction, userId: string, plan: string, now: Date): Promise<void> {
  const id = userKey(userId);
  await trx('users').insert({ id, plan, created_at: now, updated_at: now }).onConflict('id').merge({ id });
}

export async function findPlan(db: Knex, userId: string): Promise<string | undefined> {
  const row = await db('users')
    .where({ id: userKey(userId) })
    .first<{ plan: string } | undefined>('plan');
  return row?.plan;
}

/** Users with their plans after a key, in key order. */
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

/** A user id as the stored bytes: ids are the same user only if their bytes are equal. */
export function userKey(userId: string): Buffer {
  return Buffer.from(userId, 'utf8');
}
