import type { Redis } from 'ioredis';
import { OutcomeUnknown } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';
import { isUuid, newEndpointId } from '../domain/ids.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { CaptureTarget } from '../store/endpoints.ts';
import { announce, announcedKeys, isTombstone, stopCaptures } from './announcements.ts';
import { redisKeys, type RedisKeys } from './keys.ts';
import { watchListening, type Listening } from './listening.ts';
import { createLocalCopies } from './local-copies.ts';
import { beginPlanChange, fillPlan, finishPlanChange } from './plan-copies.ts';

/** How long a pod trusts its own copy if an announcement should get lost. */
const LOCAL_TTL_MS = 5_000;
const LOCAL_MAX = 20_000;

/** A pod whose connection for announcements went silent relies on its copies for this long together at most. */
const HEARTBEAT_MS = 1_000;
const HEARTBEAT_TIMEOUT_MS = 2_000;

/** Until the row is gone: should the delete's process die, captures go on after this. */
const TENTATIVE_TOMBSTONE_SECONDS = 30;

/** Redis keeps an endpoint for so long of which nobody can tell whether it was deleted; then the database is asked. */
const UNSURE_MS = 5_000;

/** Past its end an endpoint stays known for a while (410 rather than a look-up); then Redis may forget it. */
const KEEP_AFTER_EXPIRY_MS = 48 * HOUR_MS;

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
  created(target: NewTarget, alias: string | null): Promise<void>;
  /**
   * Stops captures on all pods while `remove` removes the endpoint's row. They go on when that fails, and where
   * the outcome is unknown for some seconds, until the database is asked again.
   * @throws what `remove` threw, or when Redis can't be told
   */
  withCapturesStopped<T>(target: NewTarget, remove: () => Promise<T>): Promise<T>;
  /** The plan that captures for a user go by; undefined when Redis doesn't know it. */
  findPlan(userId: string): Promise<string | undefined>;
  /** Removes the copy of a plan that is about to change in the database, see `plan-copies.ts`; returns a token. */
  beginPlanChange(userId: string): Promise<string>;
  /** Makes a user's new plan hold on all pods. */
  finishPlanChange(userId: string, token: string, plan: string): Promise<void>;
  /** Whether announcements reach this process; it keeps no copies of its own otherwise. */
  isListening(): boolean;
  stop(): void;
}

export type NewTarget = Pick<CaptureTarget, 'id' | 'userId' | 'expiresAt'>;

export interface EndpointCacheOptions {
  redis: Redis;
  subscriber: Redis;
  prefix: string;
  log: Log;
  /** By id or alias. */
  findInDatabase: (key: string) => Promise<CaptureTarget | undefined>;
}

/**
 * Endpoints by id and alias, the same on every pod within milliseconds: changes are written to
 * Redis and announced to the other pods, which drop their own copies of what has changed.
 *
 * Redis holds endpoints for as long as they exist, so that captures go on while the database is
 * away. A look-up writes only where nothing is (`NX`), and a delete leaves a tombstone, so that
 * a look-up that read the row before the delete can't bring the endpoint back.
 */
export function createEndpointCache(options: EndpointCacheOptions): EndpointCache {
  const { redis, prefix, log } = options;
  const keys = redisKeys(prefix);
  const local = createLocal(options);
  const { find, findPlan } = createLookUp(options, local);

  async function restore(target: NewTarget, mark: string, forMs: number): Promise<void> {
    const key = keys.endpoint(target.id);
    if ((await redis.get(key))?.endsWith(mark) !== true) return;
    await redis.del(key);
    await write(redis, keys, target, null, forMs);
    await changed([key]);
  }

  async function changed(changedKeys: string[]): Promise<void> {
    local.drop(changedKeys);
    await announce(redis, prefix, changedKeys);
  }

  return {
    find,
    async created(target, alias) {
      await write(redis, keys, target, alias);
      await changed([keys.endpoint(target.id), ...(alias === null ? [] : [keys.alias(alias)])]);
    },
    async withCapturesStopped(target, remove) {
      const key = keys.endpoint(target.id);
      local.drop([key]);
      // Its own mark: a delete that fails must not undo another one that succeeds.
      const mark = newEndpointId();
      await stopCaptures(redis, prefix, target.id, { mark, seconds: TENTATIVE_TOMBSTONE_SECONDS });
      try {
        const result = await remove();
        await stopCaptures(redis, prefix, target.id).catch(() => {});
        return result;
      } catch (error) {
        await restore(target, mark, error instanceof OutcomeUnknown ? UNSURE_MS : Infinity).catch((failure: unknown) => {
          log.warn({ error: describeError(failure) }, 'Captures stay stopped for some seconds');
        });
        throw error;
      }
    },
    findPlan,
    beginPlanChange: (userId) => beginPlanChange(redis, prefix, userId),
    async finishPlanChange(userId, token, plan) {
      local.drop([keys.plan(userId)]);
      await finishPlanChange(redis, prefix, userId, token, plan);
      local.drop([keys.plan(userId)]);
    },
    isListening: () => local.listening.isUp(),
    stop: () => local.listening.stop(),
  };
}

/** Finds endpoints: in this process, otherwise in Redis, otherwise in the database. */
function createLookUp({ redis, prefix, findInDatabase }: EndpointCacheOptions, local: ReturnType<typeof createLocal>) {
  const keys = redisKeys(prefix);

  async function find(key: string): Promise<CachedTarget | undefined> {
    const id = isUuid(key) ? key : await local.aliases.read(keys.alias(key), () => loadAlias(key));
    const endpoint = id === undefined ? undefined : await findById(id);
    if (endpoint === undefined) return undefined;
    const plan = await local.plans.read(keys.plan(endpoint.userId), () => loadPlan(endpoint));
    return plan === undefined ? undefined : { ...endpoint, plan };
  }

  function findById(id: string): Promise<CachedEndpoint | undefined> {
    return local.endpoints.read(keys.endpoint(id), () => loadEndpoint(id));
  }

  /** Redis may have an alias of an endpoint that is gone; it may be another one's by now. */
  async function loadAlias(alias: string): Promise<string | undefined> {
    const id = await redis.get(keys.alias(alias));
    if (id !== null && (await findById(id)) !== undefined) return id;
    const target = await findInDatabase(alias);
    if (target !== undefined) await write(redis, keys, target, alias);
    return target?.id;
  }

  async function loadEndpoint(id: string): Promise<CachedEndpoint | undefined> {
    const key = keys.endpoint(id);
    let value = await redis.get(key);
    if (value === null) {
      const target = await findInDatabase(id);
      if (target === undefined) return undefined;
      await Promise.all([write(redis, keys, target, null), fillPlan(redis, prefix, target.userId, target.plan)]);
      // The answer is what Redis holds now: a delete that came meanwhile counts.
      value = await redis.get(key);
    }
    return value === null || isTombstone(value) ? undefined : (JSON.parse(value) as CachedEndpoint);
  }

  async function loadPlan({ id, userId }: CachedEndpoint): Promise<string | undefined> {
    const copy = await findPlan(userId);
    if (copy !== undefined) return copy;
    const target = await findInDatabase(id);
    if (target === undefined) return undefined;
    await fillPlan(redis, prefix, userId, target.plan);
    // There is no copy while a change is under way: until its commit, the old plan holds.
    return (await findPlan(userId)) ?? target.plan;
  }

  async function findPlan(userId: string): Promise<string | undefined> {
    return (await redis.get(keys.plan(userId))) ?? undefined;
  }

  return { find, findPlan };
}

/** Writes only where nothing is. An alias may point to an endpoint that is gone, so that it is always written anew. */
async function write(redis: Redis, keys: RedisKeys, target: NewTarget, alias: string | null, forMs = Infinity): Promise<void> {
  const { id, userId, expiresAt } = target;
  const endpoint: CachedEndpoint = { id, userId, expiresAt: expiresAt?.getTime() ?? null };
  const json = JSON.stringify(endpoint);
  const untilEnd = endpoint.expiresAt === null ? Infinity : Math.max(0, endpoint.expiresAt - Date.now());
  const keepMs = Math.min(forMs, untilEnd + KEEP_AFTER_EXPIRY_MS);
  const key = keys.endpoint(id);
  await Promise.all([
    keepMs === Infinity ? redis.set(key, json, 'NX') : redis.set(key, json, 'PX', keepMs, 'NX'),
    alias !== null && redis.set(keys.alias(alias), id),
  ]);
}

/** What this process holds itself, by keys of Redis; nothing while announcements do not reach it. */
function createLocal({ subscriber, prefix, log }: EndpointCacheOptions) {
  const { announcements } = redisKeys(prefix);
  const mayKeep = (): boolean => listening.isUp();
  const aliases = createLocalCopies<string>(LOCAL_MAX, LOCAL_TTL_MS, mayKeep);
  const endpoints = createLocalCopies<CachedEndpoint>(LOCAL_MAX, LOCAL_TTL_MS, mayKeep);
  const plans = createLocalCopies<string>(LOCAL_MAX, LOCAL_TTL_MS, mayKeep);
  const all = [aliases, endpoints, plans];

  function drop(changed: readonly string[]): void {
    for (const key of changed) for (const copies of all) copies.drop(key);
  }
  function clear(): void {
    for (const copies of all) copies.clear();
  }
  subscriber.on('message', (_channel, message) => {
    const changed = announcedKeys(message);
    if (changed === undefined) clear();
    else drop(changed);
  });
  // What was announced while this process was not listening is unknown: it relies on Redis until it listens again.
  const listening: Listening = watchListening({
    subscriber,
    listen: () => subscriber.subscribe(announcements),
    heartbeatMs: HEARTBEAT_MS,
    timeoutMs: HEARTBEAT_TIMEOUT_MS,
    onUp: clear,
    onInterrupted: clear,
    onForbidden(error) {
      log.warn({ error: describeError(error) }, 'Cannot listen for endpoint changes; asking Redis each time');
    },
  });
  return { aliases, endpoints, plans, drop, listening };
}
