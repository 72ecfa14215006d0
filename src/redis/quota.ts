import type { Redis } from 'ioredis';
import { DAY_MS, utcDay } from '../domain/time.ts';
import { redisKeys, type RedisKeys } from './keys.ts';
import { RESERVE_COMMAND, withScripts } from './quota-scripts.ts';

/** After this time a batch was either enqueued, or never will be. */
const PENDING_MS = 60_000;
const RECONCILE_CHUNK = 500;

const SETTLE_CHUNK = 1_000;

/** The captures of one user in a batch (each user once); `cap` null = unlimited. */
export interface QuotaRequest {
  userId: string;
  count: number;
  cap: number | null;
}

/** The first `granted` of the requested captures are counted; `used` is the day's count after that. */
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

/** The job of a batch: the UTC day that it counts for, and its key in Redis. */
export interface ReservedJob {
  id: string;
  day: string;
  key: string;
}

/** What a reservation needs of a connection: to run a script. */
interface Transaction {
  runCommand(name: string, args: (string | number)[]): Promise<unknown>;
}

/** Captures counted per user and UTC day, exactly, whatever the number of pods. */
export interface Quota {
  /**
   * Counts the captures of a batch against their owners' caps, before the batch is enqueued.
   * @throws when Redis does not answer, or a lost count cannot be read back from the database
   */
  reserve(batchId: string, requests: readonly QuotaRequest[]): Promise<Reservation>;
  /**
   * Adds the same to a transaction, to be followed by the batch's job: it counts all captures, or none and keeps the job
   * from being added; its reply tells, see `isReserved`. The transaction's connection must know the scripts
   * (`withScripts`).
   */
  reserveAll(transaction: Transaction, job: ReservedJob, requests: readonly QuotaRequest[]): Promise<unknown>;
  /** Reads a user's count from the database in advance, so that the first capture need not. */
  prepare(userId: string): Promise<void>;
  /** The batch is in the queue: its reservation is final. */
  settle(batchId: string): void;
  /** The batch is certainly not in the queue: refunds its reservation, once. */
  refund(batchId: string): Promise<void>;
}

/** A note about a reservation: its time and day, and the grants of its users. */
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
  shards = 1,
): Quota {
  const keys = redisKeys(prefix);
  const scripts = withScripts(redis);
  const settled: string[] = [];

  function argumentsOf(batchId: string, requests: readonly QuotaRequest[], job?: ReservedJob): (string | number)[] {
    // If this call fails, the reconciler settles these.
    const done = settled.splice(0, SETTLE_CHUNK);
    const users = requests.map(({ userId }) => userId);
    return [
      3 + users.length,
      keys.quotaPending,
      keys.quotaSince,
      job?.key ?? keys.quotaPending,
      ...users.map(keys.quotaOfUser),
      batchId,
      JSON.stringify(users),
      JSON.stringify(done),
      job === undefined ? -1 : Math.floor(Date.parse(job.day) / DAY_MS),
      shards,
      ...requests.flatMap(({ count, cap }) => [count, cap ?? -1]),
    ];
  }

  async function reserve(batchId: string, requests: readonly QuotaRequest[]): Promise<Reservation> {
    const reply = await scripts[RESERVE_COMMAND](...argumentsOf(batchId, requests));
    const [seconds = 0, micros = 0, , ...pairs] = reply.map(Number);
    const now = seconds * 1000 + Math.floor(micros / 1000);
    const users = requests.map(({ userId }) => userId);
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
    reserveAll: (transaction, job, requests) =>
      transaction.runCommand(RESERVE_COMMAND, argumentsOf(job.id, requests, job)),
    prepare: (userId) => seed(userId, Date.now()),
    settle: (batchId) => void settled.push(batchId),
    async refund(batchId) {
      const note = await redis.hget(keys.quotaPending, batchId);
      if (note !== null) await refundNoted(redis, keys, batchId, JSON.parse(note) as Pending);
    },
  };
}

/** Whether a reply to `reserveAll` says that the captures were counted. */
export function isReserved(reply: unknown): boolean {
  return Array.isArray(reply) && Number(reply[2]) === 1;
}

/**
 * Settles old reservations, after a pod died or did not learn the outcome of its batch: they become final where the
 * batch is in the queue or stored, and are refunded otherwise.
 * @param findKept the batches that are in the queue or in the ledger, read in this order
 * @param discard called for each other batch, before its reservation is removed
 * @param pendingMs minimum age of a reservation, in milliseconds
 * @returns the number of captures that were refunded
 */
export async function reconcileQuota(
  redis: Redis,
  prefix: string,
  findKept: (batchIds: string[]) => Promise<Set<string>>,
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
    const kept = await findKept(old.map(([batchId]) => batchId));
    for (const [batchId, pending] of old) {
      if (kept.has(batchId)) {
        await redis.hdel(keys.quotaPending, batchId);
        continue;
      }
      await discard(batchId);
      if (await refundNoted(redis, keys, batchId, pending))
        returned += pending.grants.reduce((sum, count) => sum + count, 0);
    }
  } while (cursor !== '0');
  return returned;
}

async function refundNoted(
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
