import type { Redis } from 'ioredis';
import type { Config } from '../../config.ts';
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
import { channelPrefix } from '../../redis/keys.ts';
import { startMemoryWatch, type MemoryWatch } from '../../redis/memory-watch.ts';
import { createQuota, isReserved, type Quota, type QuotaRequest } from '../../redis/quota.ts';
import { withScripts } from '../../redis/quota-scripts.ts';
import { replicated } from '../../redis/replicas.ts';
import { openShards, shardOf, type Shard } from '../../redis/shards.ts';
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
  quota: Pick<Quota, 'prepare'>;
  memory: MemoryWatch;
  refuse: Refuse;
  intake: Intake;
}

export interface CapturePathOptions {
  db: Database;
  /** Connections of the producer. */
  shards: Shard[];
  cacheRedis: Redis;
  metrics: ApiMetrics;
}

export function openCapturePath(
  config: Config,
  resources: Resources,
  log: Log,
  options: CapturePathOptions,
): CapturePath {
  const { db, cacheRedis, metrics } = options;
  const subscriber = resources.add(openRedis(config.redis, 'subscriber', log, channelPrefix(config.redis)), closeRedis);
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
  const memory = resources.add(
    startMemoryWatch({ redis: cacheRedis, refusePercent: config.redisMemoryRefusePercent, log }),
    (watch) => void watch.stop(),
  );
  const refuse = createRefusals(metrics.captureRefusals, log);
  const { quota, intake } = openIntakes(config, resources, log, { ...options, refuse });
  return { endpoints, quota, memory, refuse, intake };
}

/** Each shard has its own quota and intake, so a batch belongs to one shard. */
function openIntakes(
  { redis, mysql }: Config,
  resources: Resources,
  log: Log,
  { db, shards, cacheRedis, metrics, refuse }: CapturePathOptions & { refuse: Refuse },
): Pick<CapturePath, 'quota' | 'intake'> {
  // Separate limit, so that look-ups of unknown addresses do not delay the counts of known endpoints.
  const limitUsage = limitLookUps(mysql.poolSize);
  const countOf = (userId: string, day: string): Promise<number> => limitUsage(() => findUsage(db.knex, userId, day));
  // Large captures have a connection of their own.
  const bulk = openShards(redis, 'bulk', resources, log);
  const opened = shards.map((shard, i) => {
    const quota = createQuota(cacheRedis, shard.prefix, countOf, shards.length);
    const enqueuing = openQueues(shard, bulk[i] as Shard, quota, redis.waitReplicas);
    return {
      quota,
      intake: resources.add(createIntake({ ...enqueuing, quota, metrics, refuse }), (open) => open.idle()),
    };
  });
  const of = (userId: string) => opened[shardOf(userId, opened.length)] as (typeof opened)[number];
  return {
    quota: { prepare: (userId) => of(userId).quota.prepare(userId) },
    intake: {
      submit: (capture, dailyCap) => of(capture.userId).intake.submit(capture, dailyCap),
      idle: async () => void (await Promise.all(opened.map(({ intake }) => intake.idle()))),
    },
  };
}

function openQueues(
  { prefix, redis: producer }: Shard,
  { redis: bulk }: Shard,
  quota: Quota,
  replicas: number,
): Pick<IntakeOptions, 'enqueue' | 'enqueueReserved' | 'discardLarge'> {
  withScripts(producer);
  const { capture: small } = openCaptureQueues(producer, prefix);
  const { 'capture-large': large } = openCaptureQueues(bulk, prefix);
  async function enqueueReserved(batch: EnqueuedBatch, requests: QuotaRequest[]): Promise<boolean> {
    const job = { ...batch, key: small.toKey(batch.id) };
    return isReserved(
      await enqueueInTransaction(small, producer, batch, (open) => quota.reserveAll(open, job, requests)),
    );
  }
  return {
    enqueueReserved: (batch, requests) => replicated(producer, replicas, () => enqueueReserved(batch, requests)),
    enqueue: {
      capture: (batch) => replicated(producer, replicas, () => enqueueCaptures(small, batch)),
      'capture-large': (batch) => replicated(bulk, replicas, () => enqueueLargeCapture(large, bulk, prefix, batch)),
    },
    discardLarge: (batchId) => removeLargeBody(bulk, prefix, batchId),
  };
}
