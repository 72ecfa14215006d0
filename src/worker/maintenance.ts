import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { describeError, type Log } from '../log.ts';
import { SWEPT_KINDS, type WorkerMetrics } from './metrics.ts';
import type { Plans } from '../plans.ts';
import { poll } from '../poll.ts';
import { findQueued, openCaptureQueues, type CaptureQueues } from '../queue/capture-queue.ts';
import { removeLargeBody } from '../queue/large-bodies.ts';
import {
  MAINTENANCE_QUEUE,
  openMaintenanceQueue,
  isPrepared,
  prepareMaintenance,
  requestSweep,
} from '../queue/maintenance-queue.ts';
import { isConnectionError, isReachable } from '../redis/connections.ts';
import { stopCaptures } from '../redis/announcements.ts';
import { redisKeys } from '../redis/keys.ts';
import { removeWrongPlans, type UserPlan } from '../redis/plan-changes.ts';
import { reconcileQuota } from '../redis/quota.ts';
import type { Shard } from '../redis/shards.ts';
import { findStoredBatches } from '../store/capture-batches.ts';
import type { Database } from '../store/database.ts';
import { sweepPlans } from './plan-sweep.ts';
import { sweep, type SweepOptions } from './sweep.ts';
import type { QueueWorkerOptions } from './capture-worker.ts';

/** Time limit of one sweep; the next one continues, and is requested at once. */
const SWEEP_BUDGET_MS = 20_000;

const SCHEDULE_CHECK_MS = 60_000;

export interface MaintenanceOptions extends QueueWorkerOptions {
  db: Database;
  redis: Redis;
  redisPrefix: string;
  plans: Plans;
  expiredGraceMs: number;
  metrics: WorkerMetrics;
  /** How often the schedule is looked for, in milliseconds: a Redis that was replaced has none. */
  scheduleCheckMs?: number;
  log: Log;
}

/** Starts running sweeps; there is one schedule, and one sweep at a time, whatever the number of workers. */
export function startMaintenance(options: MaintenanceOptions): { close(): Promise<void> } {
  const { db, redis, redisPrefix, plans, expiredGraceMs, metrics, log, shards, locks } = options;
  const { scheduleCheckMs = SCHEDULE_CHECK_MS } = options;
  const captures = shards.map((shard) => openCaptureQueues(shard.redis, shard.prefix));
  const [{ redis: connection }] = shards as [Shard];
  const maintenance = openMaintenanceQueue(connection, redisPrefix);
  const keys = redisKeys(redisPrefix);
  let stopped = false;

  const worker = new Worker(MAINTENANCE_QUEUE, run, { ...locks, connection, prefix: keys.queues, concurrency: 1 });
  worker.on(
    'error',
    (error) =>
      isConnectionError(error) || log.warn({ queue: worker.name, error: describeError(error) }, 'Queue trouble'),
  );
  worker.on('failed', (_job, error) =>
    log.error({ queue: worker.name, error: describeError(error) }, 'Sweep failed; the next one continues'),
  );
  let begun = false;
  const schedule = poll(async () => {
    try {
      if (!begun || !(await isPrepared(maintenance))) await prepareMaintenance(maintenance);
      begun = true;
    } catch (error) {
      log.warn({ error: describeError(error) }, 'Sweeps not scheduled; trying again');
    }
    return scheduleCheckMs;
  });

  async function run(): Promise<void> {
    const end = performance.now() + SWEEP_BUDGET_MS;
    const isOver = (): boolean => stopped || performance.now() > end;
    const returned = await reconcileShards();
    const removeWrong = (users: UserPlan[]): Promise<Set<string>> => removeWrongPlans(redis, redisPrefix, users);
    const result = await sweep({
      db: db.knex,
      plans,
      now: Date.now(),
      expiredGraceMs,
      stopCaptures: async (id) => void (await stopCaptures(redis, redisPrefix, id)),
      findDisputed: removeWrong,
      findQueued: findInAnyQueue,
      cursor: cursorAt(keys.sweepCursor),
      isOver,
    });
    // Last, because its corrections only affect the retention of the next sweep.
    const plansCursor = cursorAt(keys.planSweepCursor);
    const corrected = await sweepPlans({ db: db.knex, removeWrong, cursor: plansCursor, isOver: () => stopped });
    for (const kind of SWEPT_KINDS) metrics.sweptRows.inc({ kind }, result[kind]);
    metrics.sweepLastSuccess.setToCurrentTime();
    if (Object.values(result).some((value) => typeof value === 'number' && value > 0) || returned > 0)
      log.info({ ...result, returned }, 'Swept');
    if (corrected > 0)
      log.warn({ users: corrected }, 'Redis had other plans for users than the database; they are corrected');
    if (!result.done && !stopped) await requestSweep(maintenance);
  }

  function cursorAt(key: string): SweepOptions['cursor'] {
    return {
      read: async () => (await redis.getBuffer(key)) ?? undefined,
      write: async (last) => void (last === undefined ? await redis.del(key) : await redis.set(key, last)),
    };
  }

  async function reconcileShards(): Promise<number> {
    let returned = 0;
    for (const [i, shard] of shards.entries()) {
      const discard = (id: string): Promise<void> => removeLargeBody(shard.redis, shard.prefix, id);
      const findKept = (ids: string[]): Promise<Set<string>> =>
        findKeptBatches(shard, captures[i] as CaptureQueues, ids);
      returned += await reconcileQuota(shard.redis, shard.prefix, findKept, discard);
    }
    return returned;
  }

  /** Reads the queue before the ledger, so a batch that moves from one to the other is found in one of them. */
  async function findKeptBatches(shard: Shard, queues: CaptureQueues, batchIds: string[]): Promise<Set<string>> {
    const queued = await findQueued(queues, shard.redis, batchIds);
    return new Set(queued).union(await findStoredBatches(db.pool, batchIds));
  }

  /** The ledger does not know the shard of a batch. */
  async function findInAnyQueue(batchIds: string[]): Promise<string[]> {
    const found = await Promise.all(
      shards.map((shard, i) => findQueued(captures[i] as CaptureQueues, shard.redis, batchIds)),
    );
    return [...new Set(found.flat())];
  }

  return {
    async close() {
      stopped = true;
      void schedule.stop();
      await worker.close(!(await isReachable(connection)));
    },
  };
}
