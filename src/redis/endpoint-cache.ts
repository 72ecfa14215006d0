import { LRUCache } from 'lru-cache';
import type { Redis } from 'ioredis';
import { describeError, type Log } from '../log.ts';
import { isUuid, newEndpointId } from '../domain/ids.ts';
import type { CaptureTarget } from '../store/endpoints.ts';

/** How long a pod trusts its own copy if an invalidation should get lost. */
const LOCAL_TTL_MS = 5_000;
const LOCAL_MAX = 20_000;

/** Longer than any look-up that began before the delete can take to write its stale answer. */
const TOMBSTONE_SECONDS = 3_600;

/** Until the row is gone: should the delete's process die, captures go on after this. */
const TENTATIVE_TOMBSTONE_SECONDS = 30;
const TOMBSTONE = 'deleted';

/** Kept for keys that lead nowhere, so that senders to a deleted endpoint don't reach the database each time. */
const UNKNOWN = 'unknown';

/** Past its end an endpoint stays known for a while (410 rather than a look-up); then Redis may forget it. */
const KEEP_AFTER_EXPIRY_MS = 48 * 3_600_000;

/** What Redis holds of an endpoint; the owner's plan has a key of its own, because it changes alone. */
interface CachedEndpoint {
  id: string;
  userId: string;
  /** Unix milliseconds, null for a permanent endpoint. */
  expiresAt: number | null;
}

/** An endpoint as the capture path sees it. */
export interface CachedTarget extends CachedEndpoint {
  plan: string;
}

export interface EndpointCache {
  /**
   * The endpoint behind `/h/<key>`: from this process, else Redis, else the database.
   * @throws when Redis can't be asked, or Redis doesn't know it and the database can't be asked
   */
  find(key: string): Promise<CachedTarget | undefined>;
  /** Makes a new endpoint known to all pods. Failing is harmless: look-ups find it in the database. */
  created(target: CaptureTarget, alias: string | null): Promise<void>;
  /**
   * Stops captures on all pods while `remove` removes the endpoint's row; they go on when that fails.
   * @throws what `remove` threw, or when Redis can't be told
   */
  whileStopped<T>(target: CaptureTarget, remove: () => Promise<T>): Promise<T>;
  /** The plan that captures for a user go by; undefined when Redis doesn't know it. */
  findPlan(userId: string): Promise<string | undefined>;
  /** Makes a user's new plan hold on all pods. */
  planChanged(userId: string, plan: string): Promise<void>;
}

export interface EndpointCacheOptions {
  redis: Redis;
  subscriber: Redis;
  prefix: string;
  log: Log;
  findInDatabase: (key: { id: string } | { alias: string }) => Promise<CaptureTarget | undefined>;
}

/**
 * Endpoints by id and alias, the same on every pod within milliseconds: changes are written to
 * Redis and announced to the other pods, which drop their own copies.
 *
 * Redis holds endpoints for as long as they exist, so that captures go on while the database is
 * away. A look-up writes only where nothing is (`NX`), and a delete leaves a tombstone, so that
 * a look-up that read the row before the delete can't bring the endpoint back.
 */
export function createEndpointCache(options: EndpointCacheOptions): EndpointCache {
  const { redis, subscriber, prefix, log, findInDatabase } = options;
  const endpointKey = endpointKeyOf(prefix);
  const channel = channelOf(prefix);
  const aliasKey = (alias: string): string => `${prefix}:alias:${alias}`;
  const planKey = (userId: string): string => `${prefix}:plan:${userId}`;

  const local = new LRUCache<string, CachedTarget | typeof UNKNOWN>({ max: LOCAL_MAX, ttl: LOCAL_TTL_MS });
  /** Grows with every change: an answer that is older than the newest change is not kept. */
  let generation = 0;
  let subscribed = false;

  function forget(): void {
    generation += 1;
    local.clear();
  }
  subscriber.on('message', forget);
  // What was announced while this pod was not listening is unknown: it relies on Redis until it listens again.
  subscriber.on('close', () => {
    subscribed = false;
    forget();
  });
  subscriber.on('ready', () => void listen());

  async function listen(): Promise<void> {
    try {
      await subscriber.subscribe(channel);
      subscribed = true;
      forget();
    } catch (error) {
      log.warn({ error: describeError(error) }, 'Cannot listen for endpoint changes; asking Redis each time');
    }
  }

  async function find(key: string): Promise<CachedTarget | undefined> {
    const known = local.get(key);
    if (known !== undefined) return known === UNKNOWN ? undefined : known;
    const before = generation;
    const found = (await findInRedis(key)) ?? (await fill(key));
    if (subscribed && generation === before) local.set(key, found ?? UNKNOWN);
    return found;
  }

  async function findInRedis(key: string): Promise<CachedTarget | undefined> {
    const id = isUuid(key) ? key : await redis.get(aliasKey(key));
    const json = id === null ? null : await redis.get(endpointKey(id));
    if (json === null || json.startsWith(TOMBSTONE)) return undefined;
    const endpoint = JSON.parse(json) as CachedEndpoint;
    const plan = await redis.get(planKey(endpoint.userId));
    return plan === null ? undefined : { ...endpoint, plan };
  }

  /** Asks the database; what it knows is written to Redis, except over something newer. */
  async function fill(key: string): Promise<CachedTarget | undefined> {
    const target = await findInDatabase(isUuid(key) ? { id: key } : { alias: key });
    if (target === undefined) return undefined;
    await write(target, isUuid(key) ? null : key);
    // The answer is what Redis holds now: a delete or a plan change that came meanwhile counts.
    return findInRedis(key);
  }

  /** Writes only where nothing is. An alias may point to an endpoint that is gone, so that it is always written anew. */
  async function write(target: CaptureTarget, alias: string | null): Promise<void> {
    const { id, userId, plan, expiresAt } = target;
    const endpoint: CachedEndpoint = { id, userId, expiresAt: expiresAt?.getTime() ?? null };
    const json = JSON.stringify(endpoint);
    const writes = redis.pipeline();
    if (endpoint.expiresAt === null) writes.set(endpointKey(id), json, 'NX');
    else writes.set(endpointKey(id), json, 'PX', Math.max(0, endpoint.expiresAt - Date.now()) + KEEP_AFTER_EXPIRY_MS, 'NX');
    writes.set(planKey(userId), plan, 'NX');
    if (alias !== null) writes.set(aliasKey(alias), id);
    for (const [error] of (await writes.exec()) ?? []) if (error) throw error;
  }

  async function restore(target: CaptureTarget, mark: string): Promise<void> {
    if ((await redis.get(endpointKey(target.id))) !== mark) return;
    await redis.del(endpointKey(target.id));
    await write(target, null);
    await announce();
  }

  async function announce(): Promise<void> {
    forget();
    await redis.publish(channel, '');
  }

  return {
    find,
    async created(target, alias) {
      await write(target, alias);
      await announce();
    },
    async whileStopped(target, remove) {
      forget();
      // Its own mark: a delete that fails must not undo another one that succeeds.
      const mark = `${TOMBSTONE}:${newEndpointId()}`;
      await stopCaptures(redis, prefix, target.id, mark, TENTATIVE_TOMBSTONE_SECONDS);
      try {
        const result = await remove();
        await redis.set(endpointKey(target.id), TOMBSTONE, 'EX', TOMBSTONE_SECONDS).catch(() => {});
        return result;
      } catch (error) {
        await restore(target, mark).catch((failure: unknown) => log.warn({ error: describeError(failure) }, 'Captures stay stopped for some seconds'));
        throw error;
      }
    },
    async findPlan(userId) {
      return (await redis.get(planKey(userId))) ?? undefined;
    },
    async planChanged(userId, plan) {
      await redis.set(planKey(userId), plan);
      await announce();
    },
  };
}

/** Stops captures of an endpoint on all pods; to be called before its row is removed. */
export async function stopCaptures(redis: Redis, prefix: string, endpointId: string, mark = TOMBSTONE, seconds = TOMBSTONE_SECONDS): Promise<void> {
  await redis.set(endpointKeyOf(prefix)(endpointId), mark, 'EX', seconds);
  await redis.publish(channelOf(prefix), '');
}

function endpointKeyOf(prefix: string): (id: string) => string {
  return (id) => `${prefix}:endpoint:${id}`;
}

function channelOf(prefix: string): string {
  return `${prefix}:invalidate`;
}
