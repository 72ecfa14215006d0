import type { Redis } from 'ioredis';
import { DAY_MS, utcDay } from '../domain/time.ts';
import { redisKeys, type RedisKeys } from './keys.ts';
import { withScripts } from './quota-scripts.ts';

/** A reservation older than this was either enqueued, or never will be. */
const PENDING_MS = 60_000;
const RECONCILE_CHUNK = 500;

/** Settled reservations that one call clears at most. */
const SETTLE_CHUNK = 1_000;

/** What a batch asks for one user (each once); `cap` null = unlimited. */
export interface QuotaRequest {
  userId: string;
  count: number;
  cap: number | null;
}

/** The first `granted` of the captures asked for are counted; `used` is the day's count after that. */
export interface Grant {
  granted: number;
  used: number;
}

export interface Reservation {
  /** UTC day by the Redis clock, `YYYY-MM-DD`. */
  day: string;
  /** Unix milliseconds by the Redis clock. */
  now: number;
  grants: Map<string, Grant>;
}

/** Captures counted per user and UTC day, exactly, whatever the number of pods. */
export interface Quota {
  /**
   * Counts the captures of a batch against their owners' caps, before the batch is enqueued.
   * @throws when Redis does not answer, or a lost count can't be read back from the database
   */
  reserve(batchId: string, requests: readonly QuotaRequest[]): Promise<Reservation>;
  /** Reads a user's count back from the database while that is there, so that the first capture need not. */
  prepare(userId: string): Promise<void>;
  /** The batch is in the queue: its reservation is final. */
  settle(batchId: string): void;
  /** The batch is certainly not in the queue: takes its reservation back, once. */
  refund(batchId: string): Promise<void>;
}

/** A note about a reservation: when, which day, and what was granted to whom. */
interface Pending {
  at: number;
  day: number;
  users: string[];
  grants: number[];
}

/** @param findUsage the database's count of a user's accepted captures on a UTC day */
export function createQuota(
  redis: Redis,
  prefix: string,
  findUsage: (userId: string, day: string) => Promise<number>,
): Quota {
  const keys = redisKeys(prefix);
  const scripts = withScripts(redis);
  const settled: string[] = [];

  async function reserve(batchId: string, requests: readonly QuotaRequest[]): Promise<Reservation> {
    // Those of a call that fails are left to the reconciler.
    const done = settled.splice(0, SETTLE_CHUNK);
    const users = requests.map(({ userId }) => userId);
    const reply = await scripts.hookbayReserve(
      2 + users.length,
      keys.quotaPending,
      keys.quotaSince,
      ...users.map(keys.quotaOfUser),
      batchId,
      JSON.stringify(users),
      JSON.stringify(done),
      ...requests.flatMap(({ count, cap }) => [count, cap ?? -1]),
    );
    const [seconds = 0, micros = 0, ...pairs] = reply.map(Number);
    const now = seconds * 1000 + Math.floor(micros / 1000);
    const grants = new Map(users.map((user, i) => [user, { granted: pairs[2 * i] ?? 0, used: pairs[2 * i + 1] ?? 0 }]));
    const unknown = users.filter((user) => grants.get(user)?.used === -1);
    if (unknown.length === 0) return { day: utcDay(now), now, grants };
    await Promise.all(unknown.map((user) => seed(user, now)));
    return reserve(batchId, requests);
  }

  /** The worker keeps the same count in the database, in the transaction that stores the captures. */
  async function seed(userId: string, now: number): Promise<void> {
    const used = await findUsage(userId, utcDay(now));
    await scripts.hookbaySeed(1, keys.quotaOfUser(userId), Math.floor(now / DAY_MS), used);
  }

  return {
    reserve,
    prepare: (userId) => seed(userId, Date.now()),
    settle: (batchId) => void settled.push(batchId),
    async refund(batchId) {
      const note = await redis.hget(keys.quotaPending, batchId);
      if (note !== null) await takeBack(redis, keys, batchId, JSON.parse(note) as Pending);
    },
  };
}

/**
 * Settles reservations that nobody settled, because their pod died or never heard what became of the
 * batch: final where the batch is in the queue or stored, taken back where it is neither.
 *
 * @param isKept those of the batches that are in the queue or in the ledger, asked in this order
 * @param discard called for each batch that is in neither, before it is forgotten
 * @param pendingMs age from which a reservation is looked at, in milliseconds
 * @returns how many captures were given back
 */
export async function reconcileQuota(
  redis: Redis,
  prefix: string,
  isKept: (batchIds: string[]) => Promise<Set<string>>,
  discard: (batchId: string) => Promise<void>,
  pendingMs = PENDING_MS,
): Promise<number> {
  const keys = redisKeys(prefix);
  const [seconds] = (await redis.time()) as unknown as [string | number, string | number];
  let returned = 0;
  let cursor = '0';
  do {
    const [next, entries] = await redis.hscan(keys.quotaPending, cursor, 'COUNT', RECONCILE_CHUNK);
    cursor = next;
    const old = pairsOf(entries).filter(([, { at }]) => at <= Number(seconds) * 1000 - pendingMs);
    if (old.length === 0) continue;
    const kept = await isKept(old.map(([batchId]) => batchId));
    for (const [batchId, pending] of old) {
      if (kept.has(batchId)) {
        await redis.hdel(keys.quotaPending, batchId);
        continue;
      }
      await discard(batchId);
      if (await takeBack(redis, keys, batchId, pending))
        returned += pending.grants.reduce((sum, count) => sum + count, 0);
    }
  } while (cursor !== '0');
  return returned;
}

async function takeBack(
  redis: Redis,
  keys: RedisKeys,
  batchId: string,
  { day, users, grants }: Pending,
): Promise<boolean> {
  return (
    (await withScripts(redis).hookbayRefund(
      1 + users.length,
      keys.quotaPending,
      ...users.map(keys.quotaOfUser),
      batchId,
      day,
      ...grants,
    )) === 1
  );
}

function pairsOf(entries: string[]): [string, Pending][] {
  return entries.flatMap((value, i): [string, Pending][] =>
    i % 2 === 0 ? [[value, JSON.parse(entries[i + 1] as string) as Pending]] : [],
  );
}
