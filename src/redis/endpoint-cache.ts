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
} from './process-copies.ts';
import { redisKeys, type RedisKeys } from './keys.ts';
import { beginPlanChange, fillPlan, finishPlanChange } from './plan-changes.ts';

/** Until the row is removed: if the process of the delete dies, captures continue after this time. */
const TENTATIVE_TOMBSTONE_SECONDS = 30;

/** While the outcome of a delete is unknown, Redis keeps the endpoint for this time; then the database is queried. */
const UNCERTAIN_MS = 5_000;

/** An expired endpoint stays in Redis for this time, so captures get their 410 without a look-up. */
const KEEP_AFTER_EXPIRY_MS = 48 * HOUR_MS;

export interface CachedTarget extends CachedEndpoint {
  plan: string;
}

export interface EndpointCache {
  /** @throws when Redis is unreachable, or when it has no copy and the database is unreachable */
  find(key: string): Promise<CachedTarget | undefined>;
  /** Announces a new endpoint to all pods. A failure is harmless: look-ups find the endpoint in the database. */
  created(target: NewTarget, alias: string | null): Promise<void>;
  /**
   * Stops captures on all pods while `remove` removes the endpoint's row. They continue when that fails; where the
   * outcome is unknown, the database is queried again after some seconds.
   * @throws the error of `remove`, or one when Redis is unreachable
   */
  withCapturesStopped<T>(target: NewTarget, remove: () => Promise<T>): Promise<T>;
  /** The plan of a user in Redis; undefined when it has no copy. */
  findPlan(userId: string): Promise<string | undefined>;
  /** Removes the copy of a plan before it changes in the database, see `plan-changes.ts`; returns a token. */
  beginPlanChange(userId: string): Promise<string>;
  /** Publishes a user's new plan to all pods. */
  finishPlanChange(userId: string, token: string, plan: string): Promise<void>;
  /** Whether announcements reach this process; otherwise it keeps no copies of its own. */
  isListening(): boolean;
  stop(): void;
}

export type NewTarget = Pick<CaptureTarget, 'id' | 'userId' | 'expiresAt'>;

export interface EndpointCacheOptions extends EndpointCopiesOptions {
  redis: Redis;
  findInDatabase: (key: string) => Promise<CaptureTarget | undefined>;
}

/**
 * Endpoints by id and alias, the same on every pod within milliseconds: changes are written to Redis and announced to
 * the other pods, which drop their copies of the changed values.
 *
 * Redis holds endpoints for as long as they exist, so captures continue while the database is unreachable. A look-up
 * writes only where there is no value (`NX`), and a delete leaves a tombstone, so a look-up that read the row before
 * the delete cannot restore the endpoint.
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
    await announceChange([key]);
  }

  async function announceChange(changedKeys: string[]): Promise<void> {
    local.drop(changedKeys);
    await announce(redis, prefix, changedKeys);
  }

  return {
    find,
    async created(target, alias) {
      await write(redis, keys, target, alias);
      await announceChange([keys.endpoint(target.id), ...(alias === null ? [] : [keys.alias(alias)])]);
    },
    async withCapturesStopped(target, remove) {
      const key = keys.endpoint(target.id);
      local.drop([key]);
      // A mark of its own: a delete that fails must not undo another one that succeeded.
      const mark = newEndpointId();
      await stopCaptures(redis, prefix, target.id, { mark, seconds: TENTATIVE_TOMBSTONE_SECONDS });
      try {
        const result = await remove();
        await stopCaptures(redis, prefix, target.id).catch(() => {});
        return result;
      } catch (error) {
        await restore(target, mark, error instanceof OutcomeUnknown ? UNCERTAIN_MS : Infinity).catch(
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

  /** An alias in Redis may belong to a deleted endpoint, and to another one in the database. */
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
      // Reads again what Redis holds now: a delete may have come meanwhile.
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
    // There is no copy during a change: until its commit, the old plan holds.
    return (await findPlan(userId)) ?? target.plan;
  }

  async function findPlan(userId: string): Promise<string | undefined> {
    return (await redis.get(keys.plan(userId))) ?? undefined;
  }

  return { find, findPlan };
}

/** Writes only where there is no value. An alias is always written, because it may point to a deleted endpoint. */
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
