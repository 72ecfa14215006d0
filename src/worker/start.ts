import type { Config } from '../config.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { Log } from '../log.ts';
import { createWorkerMetrics } from './metrics.ts';
import { startReadiness } from '../ops/readiness.ts';
import { startBallast } from '../redis/ballast.ts';
import { closeRedis, openRedis } from '../redis/connections.ts';
import { channelPrefix } from '../redis/keys.ts';
import { layoutProblem } from '../redis/shard-layout.ts';
import { openShards } from '../redis/shards.ts';
import type { Poll } from '../poll.ts';
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
  const db = resources.add(openDatabase(config.mysql, { joinedStatements: true }), (database) => database.close());
  const redis = resources.add(openRedis(config.redis, 'worker', log), closeRedis);
  const shards = openShards(config.redis, 'worker', resources, log);
  const metrics = createWorkerMetrics();
  metrics.measureConnections(() => db.connections());

  const readiness = await startReadiness(config, resources, log, {
    db,
    redis,
    // BullMQ's workers call INFO; where it is forbidden they repeat it without end or pause, and nothing else runs.
    pingRedis: () => Promise.all([redis, ...shards.map((shard) => shard.redis)].map((open) => open.info('server'))),
    layoutProblem: () => layoutProblem(shards),
    toleratesDeadDatabase: false,
    scrape: () => metrics.scrape(),
  });
  const locks = {
    lockDuration: config.jobLockMs,
    stalledInterval: Math.ceil(config.jobLockMs / 2),
    maxStalledCount: MAX_STALLED_COUNT,
  };
  const broadcaster = config.live.enabled ? openBroadcaster() : undefined;
  const shared = { db, redis, redisPrefix: config.redis.prefix, shards, locks, metrics, log };
  void takeJobs();
  const { internalPort } = readiness;
  log.info({ internalPort }, 'Worker is starting');
  return { internalPort };

  /** Waits for the schema: without it every job would fail and have to be repeated. */
  async function takeJobs(): Promise<void> {
    await readiness.passed;
    // First of all commands to a Redis that may be full. Its last query may wait for a Redis that is unreachable.
    resources.add(await startBallasts(), (ballasts) => ballasts.forEach((ballast) => void ballast.stop()));
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

  /** A Redis Cluster has one a shard, so each master has room again. */
  function startBallasts(): Promise<Poll[]> {
    const { cluster, prefix } = config.redis;
    const places =
      cluster.length > 0 ? shards.map((shard) => ({ ...shard, prefix: `{${shard.prefix}}` })) : [{ prefix, redis }];
    return Promise.all(places.map((place) => startBallast(place.redis, place.prefix, log, 1 / places.length)));
  }

  /** Publishing has a connection of its own, so that large events do not delay jobs. */
  function openBroadcaster(): Broadcaster {
    const prefix = channelPrefix(config.redis);
    const publisher = resources.add(openRedis(config.redis, 'worker', log, prefix), closeRedis);
    return createBroadcaster({ pool: db.pool, publisher, prefix, log });
  }
}
