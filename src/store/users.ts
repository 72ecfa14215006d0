import type { Knex } from 'knex';

/** Remembers the plan that a user's token named; creates the user when it is new. */
export async function savePlan(db: Knex, userId: string, plan: string, now: Date): Promise<void> {
  await db('users')
    .insert({ id: userKey(userId), plan, created_at: now, updated_at: now })
    .onConflict('id')
    .merge({ plan, updated_at: now });
}

/** Plan name of a user, or undefined for a stranger. */
export async function findPlan(db: Knex, userId: string): Promise<string | undefined> {
  const row = await db('users').where({ id: userKey(userId) }).first<{ plan: string } | undefined>('plan');
  return row?.plan;
}

/** A user id as the bytes that are stored: two ids are the same user only if they are the same bytes. */
export function userKey(userId: string): Buffer {
  return Buffer.from(userId, 'utf8');
}
