import type { Config } from '../config.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { Log } from '../log.ts';
import { createWorkerMetrics } from './metrics.ts';
import { largestBody } from '../plans.ts';
import { createDurabilityCheck } from '../ops/durability.ts';
import { listen } from '../ops/listen.ts';
import { createOpsServer } from '../ops/server.ts';
import { startStartupCheck } from '../ops/startup-check.ts';
import { startBallast } from '../redis/ballast.ts';
import { closeRedis, openRedis } from '../redis/connections.ts';
import { redisKeys } from '../redis/keys.ts';
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

  const unsafe = createDurabilityCheck({ redis, db, mode: config.durability, log });
  const check = resources.add(
    // BullMQ's workers call INFO; where it is forbidden they repeat it without end or pause, and nothing else runs.
    startStartupCheck({
      db,
      pingRedis: () => redis.info('server'),
      toleratesDeadDatabase: false,
      largestBody: largestBody(config.plans),
      unsafe,
      log,
    }),
    (running) => running.stop(),
  );
  let draining = false;
  const ops = createOpsServer({
    notReady: () => (draining ? ['stopping'] : check.missing()),
    scrape: () => metrics.scrape(),
  });
  const internalPort = await listen(ops, config.host, config.internalPort);
  resources.add(ops, (server) => void server.close());

  const queueWorker = {
    connection: redis,
    prefix: redisKeys(config.redis.prefix).queues,
    lockDuration: config.jobLockMs,
    stalledInterval: Math.ceil(config.jobLockMs / 2),
    maxStalledCount: MAX_STALLED_COUNT,
  };
  const broadcaster = config.live.enabled ? openBroadcaster() : undefined;
  const shared = { db, redis, redisPrefix: config.redis.prefix, queueWorker, metrics, log };
  void takeJobs();
  log.info({ internalPort }, 'Worker is starting');
  return { internalPort };

  /** Waits for the schema: without it every job would fail and have to be repeated. */
  async function takeJobs(): Promise<void> {
    await check.passed;
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
        draining = true;
        await worker.close();
      },
    );
    log.info('Worker is taking jobs');
  }
  /** Publishing has a connection of its own, so that large events do not delay jobs. */
  function openBroadcaster(): Broadcaster {
    const publisher = resources.add(openRedis(config.redis, 'worker', log), closeRedis);
    return createBroadcaster({ pool: db.pool, publisher, prefix: config.redis.prefix, log });
  }
}
