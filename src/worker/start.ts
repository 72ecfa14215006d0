import type { Config } from '../config.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { Log } from '../log.ts';
import { createWorkerMetrics } from './metrics.ts';
import { startReadiness } from '../ops/readiness.ts';
import { startBallast } from '../redis/ballast.ts';
import { closeRedis, openRedis } from '../redis/connections.ts';
import { channelPrefix, redisKeys } from '../redis/keys.ts';
import { shardTags } from '../redis/shards.ts';
import type { Resources } from '../resources.ts';
import { openDatabase } from '../store/database.ts';
import { createBroadcaster, type Broadcaster } from './broadcast.ts';
import { startMaintenance } from './maintenance.ts';
import { measureBroadcast } from './persist-metrics.ts';
import { startSharedMetrics } from './shared-metrics.ts';
import { startCaptureWorker } from './capture-worker.ts';

/** A job returns to the queue when its worker crashes, however often: that is not the job's fault. */
const MAX_STALLED_COUNT = 1_000_000;

/** Opens all parts of a worker process and starts running jobs; closing `resources` finishes them. */
export async function startWorkerProcess(
  config: Config,
  resources: Resources,
  log: Log,
): Promise<{ internalPort: number }> {
  const db = resources.add(openDatabase(config.mysql), (database) => database.close());
  const redis = resources.add(openRedis(config.redis, 'worker', log), closeRedis);
  const metrics = createWorkerMetrics();
  metrics.measureConnections(() => db.connections());

  const readiness = await startReadiness(config, resources, log, {
    db,
    redis,
    // BullMQ's workers call INFO; where it is forbidden they repeat it without end or pause, and nothing else runs.
    pingRedis: () => redis.info('server'),
    toleratesDeadDatabase: false,
    scrape: () => metrics.scrape(),
  });
  const queueWorker = {
    connection: resources.add(openRedis(config.redis, 'worker', log, shardTags(config.redis.prefix, 1)[0]), closeRedis),
    prefix: redisKeys(config.redis.prefix).queues,
    lockDuration: config.jobLockMs,
    stalledInterval: Math.ceil(config.jobLockMs / 2),
    maxStalledCount: MAX_STALLED_COUNT,
  };
  const broadcaster = config.live.enabled ? openBroadcaster() : undefined;
  const shared = { db, redis, redisPrefix: config.redis.prefix, queueWorker, metrics, log };
  void takeJobs();
  const { internalPort } = readiness;
  log.info({ internalPort }, 'Worker is starting');
  return { internalPort };

  /** Waits for the schema: without it every job would fail and have to be repeated. */
  async function takeJobs(): Promise<void> {
    await readiness.passed;
    // First of all commands to a Redis that may be full. Its last query may wait for a Redis that is unreachable.
    resources.add(await startBallast(redis, config.redis.prefix, log), (ballast) => void ballast.stop());
    resources.add(startSharedMetrics(shared), (lease) => lease.release());
    resources.add(
      startMaintenance({ ...shared, plans: config.plans, expiredGraceMs: config.expiredGraceHours * HOUR_MS }),
      (worker) => worker.close(),
    );
    resources.add(
      startCaptureWorker({
        ...shared,
        concurrency: config.workerConcurrency,
        broadcast: measureBroadcast(metrics, async (persisted) => broadcaster?.broadcast(persisted) ?? 0),
      }),
      async (worker) => {
        readiness.drain();
        await worker.close();
      },
    );
    log.info('Worker is taking jobs');
  }
  /** Publishing has a connection of its own, so that large events do not delay jobs. */
  function openBroadcaster(): Broadcaster {
    const prefix = channelPrefix(config.redis);
    const publisher = resources.add(openRedis(config.redis, 'worker', log, prefix), closeRedis);
    return createBroadcaster({ pool: db.pool, publisher, prefix, log });
  }
}
