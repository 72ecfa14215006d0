import type { Redis } from 'ioredis';
import { OutcomeUnknown } from '../deadline.ts';
import { describeError } from '../log.ts';
import { isUuid, newEndpointId } from '../domain/ids.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { CaptureTarget } from '../store/endpoints.ts';
import { announce, isTombstone, stopCaptures } from './announcements.ts';
import {
  createEndpointCopies,
  type CachedEndpoint,
  type EndpointCopies,
  type EndpointCopiesOptions,
} from './endpoint-copies.ts';
import { redisKeys, type RedisKeys } from './keys.ts';
import { beginPlanChange, fillPlan, finishPlanChange } from './plan-copies.ts';

/** Until the row is gone: should the delete's process die, captures go on after this. */
const TENTATIVE_TOMBSTONE_SECONDS = 30;

/** Redis keeps an endpoint for so long of which nobody can tell whether it was deleted; then the database is asked. */
const UNSURE_MS = 5_000;

/** Past its end an endpoint stays known for a while (410 rather than a look-up); then Redis may forget it. */
const KEEP_AFTER_EXPIRY_MS = 48 * HOUR_MS;

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

export interface EndpointCacheOptions extends EndpointCopiesOptions {
  redis: Redis;
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
  const local = createEndpointCopies(options);
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
        await restore(target, mark, error instanceof OutcomeUnknown ? UNSURE_MS : Infinity).catch(
          (failure: unknown) => {
            log.warn({ error: describeError(failure) }, 'Captures stay stopped for some seconds');
          },
        );
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
function createLookUp({ redis, prefix, findInDatabase }: EndpointCacheOptions, local: EndpointCopies) {
  const keys = redisKeys(prefix);

  /** Without waiting, because each capture asks, and most find their endpoint here. */
  function findLocally(key: string): CachedTarget | undefined {
    const id = isUuid(key) ? key : local.aliases.peek(keys.alias(key));
    const endpoint = id === undefined ? undefined : local.endpoints.peek(keys.endpoint(id));
    const plan = endpoint === undefined ? undefined : local.plans.peek(keys.plan(endpoint.userId));
    return endpoint === undefined || plan === undefined ? undefined : { ...endpoint, plan };
  }

  async function find(key: string): Promise<CachedTarget | undefined> {
    const known = findLocally(key);
    if (known !== undefined) return known;
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
async function write(
  redis: Redis,
  keys: RedisKeys,
  target: NewTarget,
  alias: string | null,
  forMs = Infinity,
): Promise<void> {
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
