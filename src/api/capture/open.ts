import type { Redis } from 'ioredis';
import type { Config, RedisConfig } from '../../config.ts';
import type { Log } from '../../log.ts';
import {
  enqueueCaptures,
  enqueueInTransaction,
  enqueueLargeCapture,
  openCaptureQueues,
  type EnqueuedBatch,
} from '../../queue/capture-queue.ts';
import { removeLargeBody } from '../../queue/large-bodies.ts';
import { closeRedis, openRedis } from '../../redis/connections.ts';
import { createEndpointCache, type EndpointCache } from '../../redis/endpoint-cache.ts';
import { startMemoryWatch, type MemoryWatch } from '../../redis/memory-watch.ts';
import { createQuota, isReserved, type Quota, type QuotaRequest } from '../../redis/quota.ts';
import { withScripts } from '../../redis/quota-scripts.ts';
import type { Resources } from '../../resources.ts';
import { findCaptureTargets } from '../../store/capture-targets.ts';
import type { Database } from '../../store/database.ts';
import { createLookUps, limitLookUps } from '../../store/look-ups.ts';
import { findUsage } from '../../store/usage.ts';
import type { ApiMetrics } from '../metrics.ts';
import { createIntake, type Intake, type IntakeOptions } from './intake.ts';
import { createRefusals, type Refuse } from './refusals.ts';

/** What decides over a capture. It depends on Redis alone once Redis has the endpoint and the day's count. */
export interface CapturePath {
  endpoints: EndpointCache;
  quota: Quota;
  memory: MemoryWatch;
  refuse: Refuse;
  intake: Intake;
}

export interface CapturePathOptions {
  db: Database;
  producer: Redis;
  cacheRedis: Redis;
  metrics: ApiMetrics;
}

export function openCapturePath(
  config: Config,
  resources: Resources,
  log: Log,
  { db, producer, cacheRedis, metrics }: CapturePathOptions,
): CapturePath {
  const subscriber = resources.add(openRedis(config.redis, 'subscriber', log), closeRedis);
  const endpoints = resources.add(
    createEndpointCache({
      redis: cacheRedis,
      subscriber,
      prefix: config.redis.prefix,
      log,
      findInDatabase: createLookUps({
        poolSize: config.mysql.poolSize,
        findAll: (keys) => findCaptureTargets(db.knex, keys),
      }),
    }),
    (cache) => cache.stop(),
  );
  // Separate limit, so that look-ups of unknown addresses do not delay the counts of known endpoints.
  const limitUsage = limitLookUps(config.mysql.poolSize);
  const quota = createQuota(cacheRedis, config.redis.prefix, (userId, day) =>
    limitUsage(() => findUsage(db.knex, userId, day)),
  );
  const memory = resources.add(
    startMemoryWatch({ redis: cacheRedis, refusePercent: config.redisMemoryRefusePercent, log }),
    (watch) => void watch.stop(),
  );
  const refuse = createRefusals(metrics.captureRefusals, log);
  const intake = resources.add(
    createIntake({ ...openQueues(config.redis, producer, resources, log, quota), quota, metrics, refuse }),
    (open) => open.idle(),
  );
  return { endpoints, quota, memory, refuse, intake };
}

/** The intake's queues; large captures have a connection of their own. */
function openQueues(
  config: RedisConfig,
  producer: Redis,
  resources: Resources,
  log: Log,
  quota: Quota,
): Pick<IntakeOptions, 'enqueue' | 'enqueueReserved' | 'discardLarge'> {
  const { prefix } = config;
  withScripts(producer);
  const bulk = resources.add(openRedis(config, 'bulk', log), closeRedis);
  const { capture: small } = openCaptureQueues(producer, prefix);
  const { 'capture-large': large } = openCaptureQueues(bulk, prefix);
  async function enqueueReserved(batch: EnqueuedBatch, requests: QuotaRequest[]): Promise<boolean> {
    const job = { ...batch, key: small.toKey(batch.id) };
    return isReserved(
      await enqueueInTransaction(small, producer, batch, (open) => quota.reserveAll(open, job, requests)),
    );
  }
  return {
    enqueueReserved,
    enqueue: {
      capture: (batch) => enqueueCaptures(small, batch),
      'capture-large': (batch) => enqueueLargeCapture(large, bulk, prefix, batch),
    },
    discardLarge: (batchId) => removeLargeBody(bulk, prefix, batchId),
  };
}
