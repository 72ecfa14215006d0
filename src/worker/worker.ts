import { Worker, WaitingError, type Job, type WorkerOptions as BullWorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { decodeBatch, type CaptureBatchJob } from '../domain/capture-batch.ts';
import { describeError, type Log } from '../log.ts';
import type { WorkerMetrics } from '../metrics.ts';
import { CAPTURE_QUEUES } from '../queue/capture-queue.ts';
import { answers } from '../redis/connections.ts';
import type { Database } from '../store/database.ts';
import { isDatabaseError, isRefusedData, mayBeTheData } from '../store/sql-errors.ts';
import { createCommitter } from './committer.ts';
import { measured } from './measured.ts';
import { Stopping } from './patience.ts';
import { persistBatches, type Persisted } from './persist.ts';

const JOB_BACKOFF_CAP_MS = 30_000;

/** Large jobs in hand at most: each is tens of megabytes, several times over. */
const LARGE_CONCURRENCY = 2;

export interface CaptureWorker {
  /** Finishes what is in flight, gives back what the database does not take, and closes. */
  close(): Promise<void>;
}

/** Settings that the workers of both queues share. */
export interface QueueWorkerOptions {
  queueWorker: Pick<BullWorkerOptions, 'connection' | 'prefix' | 'lockDuration' | 'stalledInterval' | 'maxStalledCount'>;
}

export interface CaptureWorkerOptions extends QueueWorkerOptions {
  db: Database;
  redis: Redis;
  /** Jobs in hand at most. */
  concurrency: number;
  /** Shows what is stored to its followers. */
  broadcast: (persisted: Persisted) => Promise<unknown>;
  metrics: WorkerMetrics;
  log: Log;
}

/** Starts taking capture jobs. */
export function startCaptureWorker({ db, redis, concurrency, broadcast, metrics, log, queueWorker }: CaptureWorkerOptions): CaptureWorker {
  const committer = createCommitter({
    persist: measured(metrics, (batches, lastResort) => persistBatches(db.pool, batches, lastResort ? (error) => isRefusedData(error) || mayBeTheData(error) : isRefusedData)),
    broadcast,
    mayBeTheData,
    // Data that is refused was set apart before; whatever else the database says may pass.
    isOutage: (error) => isDatabaseError(error) && !isRefusedData(error),
    log,
  });
  const workers = CAPTURE_QUEUES.map((name) => {
    const worker = new Worker<CaptureBatchJob, void>(name, storeJob, {
      ...queueWorker,
      concurrency: name === 'capture' ? concurrency : LARGE_CONCURRENCY,
      settings: { backoffStrategy: (attempt) => Math.min(500 * 2 ** (attempt - 1), JOB_BACKOFF_CAP_MS) * (0.5 + Math.random() / 2) },
    });
    worker.on('error', (error) => log.warn({ queue: name, error: describeError(error) }, 'Queue trouble'));
    worker.on('failed', (job, error) => log.error({ queue: name, job: job?.id, error: describeError(error) }, 'Job failed'));
    return worker;
  });

  async function storeJob(job: Job<CaptureBatchJob, void>, token?: string): Promise<void> {
    try {
      await committer.commit({ id: job.id as string, day: job.data.day, captures: decodeBatch(job.data) });
    } catch (error) {
      if (!(error instanceof Stopping)) throw withoutData(error);
      // Back to the queue for another worker, without costing the job an attempt.
      await job.moveToWait(token);
      throw new WaitingError();
    }
  }

  return {
    async close() {
      committer.stop();
      const force = !(await answers(redis));
      await Promise.all(workers.map((worker) => worker.close(force)));
    },
  };
}

/** BullMQ keeps message and stack with the failed job, where both may quote what was captured. */
function withoutData(error: unknown): Error {
  const { type, message, code, stack } = describeError(error);
  const clean = new Error([type, message, code].filter((part) => part !== undefined).join(': '));
  clean.stack = `${clean.message}\n${stack ?? ''}`;
  return clean;
}
