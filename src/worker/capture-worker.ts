import { Worker, WaitingError, type Job, type Processor, type WorkerOptions as BullWorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import pLimit from 'p-limit';
import { decodeBatch, type CaptureBatchJob } from '../domain/capture-job.ts';
import { describeError, type Log } from '../log.ts';
import type { WorkerMetrics } from './metrics.ts';
import { CAPTURE_QUEUES, type CaptureQueueName } from '../queue/capture-queue.ts';
import { readLargeBody, removeLargeBody } from '../queue/large-bodies.ts';
import { isConnectionError, isReachable } from '../redis/connections.ts';
import { stopCaptures } from '../redis/announcements.ts';
import { redisKeys } from '../redis/keys.ts';
import type { Shard } from '../redis/shards.ts';
import type { Database } from '../store/database.ts';
import { findStoredBatches } from '../store/capture-batches.ts';
import { isDatabaseError, isRefusedData, mayBeDataError } from '../store/sql-errors.ts';
import { createCommitter } from './committer.ts';
import { measurePersist } from './persist-metrics.ts';
import { GroupWorker } from './group-worker.ts';
import { createOrphanStop } from './orphans.ts';
import { createRetry, Stopping } from './retry.ts';
import { persistBatches, type Persisted } from './persist.ts';

const JOB_BACKOFF_CAP_MS = 30_000;

/** Large jobs that run at the same time, over all shards: each takes tens of megabytes several times over. */
const LARGE_CONCURRENCY = 2;

export interface CaptureWorker {
  /** Finishes the running transactions, returns the other jobs to the queue, and closes. */
  close(): Promise<void>;
}

export interface QueueWorkerOptions {
  shards: Shard[];
  locks: Pick<BullWorkerOptions, 'lockDuration' | 'stalledInterval' | 'maxStalledCount'>;
}

export interface CaptureWorkerOptions extends QueueWorkerOptions {
  db: Database;
  redis: Redis;
  redisPrefix: string;
  concurrency: number;
  broadcast: (persisted: Persisted) => Promise<unknown>;
  metrics: WorkerMetrics;
  log: Log;
}

export function startCaptureWorker({
  db,
  redis,
  redisPrefix,
  concurrency,
  broadcast,
  metrics,
  log,
  shards,
  locks,
}: CaptureWorkerOptions): CaptureWorker {
  const stopOrphans = createOrphanStop({ stopCaptures: (id) => stopCaptures(redis, redisPrefix, id), metrics, log });
  const stopping = new AbortController();
  const retry = createRetry({
    mayBeDataError,
    // Refused data is handled before this; every other error of the database may be temporary.
    isOutage: (error) => isDatabaseError(error) && !isRefusedData(error),
    stopping: stopping.signal,
    log,
  });
  const committer = createCommitter({
    persist: measurePersist(metrics, (batches, lastResort) =>
      persistBatches(
        db.pool,
        batches,
        lastResort ? (error) => isRefusedData(error) || mayBeDataError(error) : isRefusedData,
      ),
    ),
    async broadcast(persisted) {
      await stopOrphans(persisted);
      await broadcast(persisted);
    },
    retry,
    stopping: stopping.signal,
    log,
  });
  const limitLarge = pLimit(LARGE_CONCURRENCY);
  const workers = shards.flatMap((shard) => CAPTURE_QUEUES.map((name) => startWorker(shard, name)));

  function startWorker(shard: Shard, name: CaptureQueueName) {
    const isLarge = name === 'capture-large';
    const store: Processor<CaptureBatchJob, void> = (job, token) => storeJob(shard, job, token);
    const options = {
      ...locks,
      prefix: redisKeys(shard.prefix).queues,
      concurrency: Math.ceil((isLarge ? LARGE_CONCURRENCY : concurrency) / shards.length),
      settings: {
        backoffStrategy: (attempt: number) =>
          Math.min(500 * 2 ** (attempt - 1), JOB_BACKOFF_CAP_MS) * (0.5 + Math.random() / 2),
      },
    };
    const worker = isLarge
      ? new Worker(name, (job, token) => limitLarge(() => store(job, token)), { ...options, connection: shard.redis })
      : new GroupWorker(name, shard.redis, store, options);
    worker.on(
      'error',
      (error) => isConnectionError(error) || log.warn({ queue: name, error: describeError(error) }, 'Queue trouble'),
    );
    worker.on('failed', (job, error) =>
      log.error({ queue: name, job: job?.id, error: describeError(error) }, 'Job failed'),
    );
    return { worker, redis: shard.redis };
  }

  async function storeJob(shard: Shard, job: Job<CaptureBatchJob, void>, token?: string): Promise<void> {
    const id = job.id as string;
    const hasBody = job.data.v === 2;
    try {
      const body = hasBody ? await readLargeBody(shard.redis, shard.prefix, id) : undefined;
      if (body === null) return await retry(() => assertStored(id), 'The database did not answer; trying again', 1);
      await committer.commit({ id, day: job.data.day, captures: decodeBatch(job.data, body) });
      if (hasBody) await removeLargeBody(shard.redis, shard.prefix, id);
    } catch (error) {
      if (!(error instanceof Stopping)) throw withoutData(error);
      // Back to the queue for another worker, without counting as an attempt.
      await job.moveToWait(token);
      throw new WaitingError();
    }
  }

  /** The body is removed after the commit, so an earlier run may have stored the batch without completing the job. */
  async function assertStored(batchId: string): Promise<void> {
    const stored = await findStoredBatches(db.pool, [batchId]);
    if (!stored.has(batchId)) throw new Error('the body of this large capture is missing');
  }

  return {
    async close() {
      // Jobs stop waiting for an unreachable database; running transactions are finished.
      stopping.abort();
      await Promise.all(workers.map(async (open) => open.worker.close(!(await isReachable(open.redis)))));
    },
  };
}

/** BullMQ stores message and stack with the failed job, and both may quote captured data. */
function withoutData(error: unknown): Error {
  const { type, message, code, stack } = describeError(error);
  const clean = new Error([type, message, code].filter((part) => part !== undefined).join(': '));
  clean.stack = `${clean.message}\n${stack ?? ''}`;
  return clean;
}
