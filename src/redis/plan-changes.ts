import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { announce } from './announcements.ts';
import { redisKeys } from './keys.ts';

/** Far longer than a transaction of the database may take: its outcome is certain after this. */
const CHANGE_SECONDS = 60;

/** KEYS: plan, change. ARGV: token, seconds. */
const BEGIN = `
redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[2])
redis.call('DEL', KEYS[1])`;

/** Does nothing after another change has begun. KEYS: plan, change. ARGV: token, plan. */
const FINISH = `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return redis.call('DEL', KEYS[2])`;

/** Does not restore a plan that was read before a change. KEYS: plan, change. ARGV: plan. */
const FILL = `
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('SET', KEYS[1], ARGV[1], 'NX') end`;

/** KEYS: plan. ARGV: the wrong plan. */
const REMOVE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/*
 * The database decides on a user's plan, and Redis has a copy. A change holds the lock on the user's row, and removes
 * the copy before the commit; afterwards only the last change writes the copy again. So there is no copy while the
 * outcome is unknown, and look-ups query the database.
 */

/** Removes the copy of a plan before it changes in the database; returns the token for `finishPlanChange`. */
export async function beginPlanChange(redis: Redis, prefix: string, userId: string): Promise<string> {
  const token = randomUUID();
  await redis.eval(BEGIN, 2, ...planKeys(prefix, userId), token, CHANGE_SECONDS);
  return token;
}

/** Writes the copy again after the commit, unless another change has begun since, and announces it. */
export async function finishPlanChange(
  redis: Redis,
  prefix: string,
  userId: string,
  token: string,
  plan: string,
): Promise<void> {
  await redis.eval(FINISH, 2, ...planKeys(prefix, userId), token, plan);
  await announce(redis, prefix, [redisKeys(prefix).plan(userId)]);
}

/** Copies the plan from the database, where there is no copy and no change is running. */
export async function fillPlan(redis: Redis, prefix: string, userId: string, plan: string): Promise<void> {
  await redis.eval(FILL, 2, ...planKeys(prefix, userId), plan);
}

export interface UserPlan {
  userId: string;
  plan: string;
}

/** Removes copies that differ from the database, and announces that. Returns their users. */
export async function removeWrongPlans(redis: Redis, prefix: string, users: readonly UserPlan[]): Promise<Set<string>> {
  if (users.length === 0) return new Set();
  const keys = redisKeys(prefix);
  // One at a time: a Redis Cluster has them on several nodes.
  const copies = await Promise.all(users.map(({ userId }) => redis.get(keys.plan(userId))));
  const wrong = users
    .map((user, i) => ({ ...user, copy: copies[i] ?? null }))
    .filter(({ plan, copy }) => copy !== null && copy !== plan);
  await Promise.all(wrong.map(({ userId, copy }) => redis.eval(REMOVE, 1, keys.plan(userId), copy as string)));
  if (wrong.length > 0)
    await announce(
      redis,
      prefix,
      wrong.map(({ userId }) => keys.plan(userId)),
    );
  return new Set(wrong.map(({ userId }) => userId));
}

function planKeys(prefix: string, userId: string): [string, string] {
  const keys = redisKeys(prefix);
  return [keys.plan(userId), keys.planChange(userId)];
}
