import type { Redis } from 'ioredis';
import { OutcomeUnknown } from '../deadline.ts';
import { describeError } from '../log.ts';
import { isUuid, newEndpointId } from '../domain/ids.ts';
import type { CaptureTarget } from '../store/capture-targets.ts';
import type { EndpointWithResponse } from '../store/custom-responses.ts';
import { announce, isTombstone, stopCaptures } from './announcements.ts';
import {
  createEndpointCopies,
  type CachedEndpoint,
  type EndpointCopies,
  type EndpointCopiesOptions,
} from './process-copies.ts';
import {
  addRecord,
  beginResponseChange,
  endpointOf,
  fillRecord,
  isSettled,
  parseRecord,
  recordOf,
} from './endpoint-records.ts';
import { redisKeys } from './keys.ts';
import { beginPlanChange, fillPlan, finishPlanChange } from './plan-changes.ts';

/** Until the row is removed: if the process of the delete dies, captures continue after this time. */
const TENTATIVE_TOMBSTONE_SECONDS = 30;

/** While the outcome of a delete is unknown, Redis keeps the endpoint for this time; then the database is queried. */
const UNCERTAIN_MS = 5_000;

export interface CachedTarget extends CachedEndpoint {
  plan: string;
}

export interface EndpointCache {
  /** What this process knows of an endpoint, without waiting: most captures find theirs here. */
  peek(key: string): CachedTarget | undefined;
  /** @throws when Redis is unreachable, or when it has no copy and the database is unreachable */
  find(key: string): Promise<CachedTarget | undefined>;
  /** Another number after this process learned of a change of any endpoint, alias or plan. */
  version: () => number;
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
  /**
   * Marks the response of an endpoint as changing, see `endpoint-records.ts`. Returns whether the change may be
   * committed.
   */
  beginResponseChange(before: EndpointWithResponse): Promise<boolean>;
  /** Publishes the new response to all pods, after the commit. */
  finishResponseChange(after: EndpointWithResponse): Promise<void>;
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
 * writes only where there is no value or an older response, and a delete leaves a tombstone, so a look-up that read the
 * row before the delete cannot restore the endpoint.
 */
export function createEndpointCache(options: EndpointCacheOptions): EndpointCache {
  const { redis, prefix, log } = options;
  const keys = redisKeys(prefix);
  const local = createEndpointCopies(options);
  const { peek, find, findPlan } = createLookUp(options, local);

  /** The database is asked for the response, because it may have changed meanwhile; `before` is used without it. */
  async function restore(target: NewTarget, before: string | null, mark: string, forMs: number): Promise<void> {
    const key = keys.endpoint(target.id);
    if ((await redis.get(key))?.endsWith(mark) !== true) return;
    await redis.del(key);
    const response = before === null || isTombstone(before) ? null : (parseRecord(before).response ?? null);
    const { id, userId, expiresAt } = target;
    await addRecord(redis, key, { id, userId, expiresAt: expiresAt?.getTime() ?? null, response }, forMs);
    await announceChange([key]);
  }

  async function announceChange(changedKeys: string[]): Promise<void> {
    local.drop(changedKeys);
    await announce(redis, prefix, changedKeys);
  }

  return {
    peek,
    find,
    version: local.version,
    async created(target, alias) {
      const record = recordOf({ ...target, response: null, responseVersion: 0 });
      await Promise.all([
        addRecord(redis, keys.endpoint(target.id), record),
        alias !== null && redis.set(keys.alias(alias), target.id),
      ]);
      await announceChange([keys.endpoint(target.id), ...(alias === null ? [] : [keys.alias(alias)])]);
    },
    async withCapturesStopped(target, remove) {
      const key = keys.endpoint(target.id);
      local.drop([key]);
      // A mark of its own: a delete that fails must not undo another one that succeeded.
      const mark = newEndpointId();
      const before = await redis.get(key);
      await stopCaptures(redis, prefix, target.id, { mark, seconds: TENTATIVE_TOMBSTONE_SECONDS });
      try {
        const result = await remove();
        await stopCaptures(redis, prefix, target.id).catch(() => {});
        return result;
      } catch (error) {
        await restore(target, before, mark, error instanceof OutcomeUnknown ? UNCERTAIN_MS : Infinity).catch(
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
    beginResponseChange: (before) => beginResponseChange(redis, keys.endpoint(before.id), before),
    async finishResponseChange(after) {
      const key = keys.endpoint(after.id);
      local.drop([key]);
      await fillRecord(redis, key, after);
      await announceChange([key]);
    },
    isListening: () => local.listening.isUp(),
    stop: () => local.listening.stop(),
  };
}

/** Finds endpoints: in this process, otherwise in Redis, otherwise in the database. */
function createLookUp({ redis, prefix, findInDatabase }: EndpointCacheOptions, local: EndpointCopies) {
  const keys = redisKeys(prefix);

  function peek(key: string): CachedTarget | undefined {
    const id = isUuid(key) ? key : local.aliases.peek(keys.alias(key));
    const endpoint = id === undefined ? undefined : local.endpoints.peek(keys.endpoint(id));
    const plan = endpoint === undefined ? undefined : local.plans.peek(keys.plan(endpoint.userId));
    return endpoint === undefined || plan === undefined ? undefined : { ...endpoint, plan };
  }

  async function find(key: string): Promise<CachedTarget | undefined> {
    const known = peek(key);
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
    if (target === undefined) return undefined;
    await Promise.all([
      addRecord(redis, keys.endpoint(target.id), recordOf(target)),
      // Always written, because it may point to a deleted endpoint.
      redis.set(keys.alias(alias), target.id),
    ]);
    return target.id;
  }

  async function loadEndpoint(id: string): Promise<CachedEndpoint | undefined> {
    const key = keys.endpoint(id);
    const value = await redis.get(key);
    if (value !== null && isTombstone(value)) return undefined;
    const record = value === null ? undefined : parseRecord(value);
    if (record !== undefined && isSettled(record)) return endpointOf(record);
    const target = await findInDatabase(id).catch((error: unknown) => {
      // A response that may be an older one is better than no capture.
      if (record === undefined) throw error;
    });
    if (target === undefined) return record && endpointOf(record);
    await Promise.all([fillRecord(redis, key, target), fillPlan(redis, prefix, target.userId, target.plan)]);
    // Reads again what Redis holds now: a delete may have come meanwhile.
    const filled = await redis.get(key);
    return filled === null || isTombstone(filled) ? undefined : endpointOf(parseRecord(filled));
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

  return { peek, find, findPlan };
}
