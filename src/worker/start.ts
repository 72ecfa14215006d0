import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { largestBody } from '../plans.ts';
import { createDurabilityCheck } from '../ops/durability.ts';
import { listen } from '../ops/listen.ts';
import { createOpsServer } from '../ops/server.ts';
import { startStartupCheck } from '../ops/startup-check.ts';
import { queuePrefix } from '../queue/capture-queue.ts';
import { startBallast } from '../redis/ballast.ts';
import { closeRedis, openRedis } from '../redis/connections.ts';
import type { Resources } from '../resources.ts';
import { openDatabase } from '../store/database.ts';
import { startMaintenance } from './maintenance.ts';
import { startCaptureWorker } from './worker.ts';

/** A worker that dies loses its jobs to another one; however often that happens, it is not the job's fault. */
const MAX_STALLED_COUNT = 1_000_000;

const HOUR_MS = 3_600_000;

/** Opens everything that a worker process needs and starts taking jobs; closing `resources` finishes them. */
export async function startWorkerProcess(config: Config, resources: Resources, log: Log): Promise<{ internalPort: number }> {
  const db = resources.add(openDatabase(config.mysql), (database) => database.close());
  const redis = resources.add(openRedis(config.redis, 'worker', log), closeRedis);

  const unsafe = createDurabilityCheck({ redis: redis, db, mode: config.durability, log });
  const check = resources.add(
    startStartupCheck({ db, pingRedis: () => redis.ping(), toleratesDeadDatabase: false, largestBody: largestBody(config.plans), unsafe, log }),
    (running) => running.stop(),
  );
  let draining = false;
  const ops = createOpsServer({ notReady: () => (draining ? ['stopping'] : check.missing()) });
  const internalPort = await listen(ops, config.host, config.internalPort);
  resources.add(ops, (server) => void server.close());

  const queueWorker = {
    connection: redis,
    prefix: queuePrefix(config.redis.prefix),
    lockDuration: config.jobLockMs,
    stalledInterval: Math.ceil(config.jobLockMs / 2),
    maxStalledCount: MAX_STALLED_COUNT,
  };
  const shared = { db, redis, redisPrefix: config.redis.prefix, queueWorker, log };
  void takeJobs();
  log.info({ internalPort }, 'Worker is starting');
  return { internalPort };

  /** Not before the schema is there: a job that fails for want of it would have to be tried again. */
  async function takeJobs(): Promise<void> {
    await check.passed;
    // Before anything else is asked of a Redis that may be full.
    resources.add(await startBallast(redis, config.redis.prefix, log), (ballast) => ballast.stop());
    resources.add(startMaintenance({ ...shared, plans: config.plans, expiredGraceMs: config.expiredGraceHours * HOUR_MS }), (worker) => worker.close());
    resources.add(startCaptureWorker({ ...shared, concurrency: config.workerConcurrency }), async (worker) => {
      draining = true;
      await worker.close();
    });
    log.info('Worker is taking jobs');
  }
}
