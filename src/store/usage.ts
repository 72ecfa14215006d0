import type { Knex } from 'knex';
import { userKey } from './users.ts';

/** Captures accepted for a user on a UTC day (`YYYY-MM-DD`), those of deleted entries included. */
export async function findUsage(db: Knex, userId: string, day: string): Promise<number> {
  const row = await db('daily_usage')
    .where({ user_id: userKey(userId), day })
    .first<{ accepted: number } | undefined>('accepted');
  return row?.accepted ?? 0;
}
