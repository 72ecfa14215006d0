import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';
import type { WorkerMetrics } from './metrics.ts';
import type { Queue } from 'bullmq';
import { CAPTURE_QUEUES, openCaptureQueues } from '../queue/capture-queue.ts';
import { MAINTENANCE_QUEUE, openMaintenanceQueue } from '../queue/maintenance-queue.ts';
import { readQueueDepth, sumOf } from '../queue/queue-depth.ts';
import { redisKeys } from '../redis/keys.ts';
import { holdLease, type Lease } from '../redis/lease.ts';
import type { Shard } from '../redis/shards.ts';
import { countPendingWork, type PendingWork } from '../store/pending-work.ts';
import { shareRunning } from '../single-flight.ts';
import type { Database } from '../store/database.ts';

/** Scrapers give up after ten seconds by default; the values of a store that is slower than this are left out. */
const ANSWER_MS = 2_000;

export interface SharedMetricsOptions {
  metrics: WorkerMetrics;
  db: Database;
  redis: Redis;
  redisPrefix: string;
  shards: Shard[];
  log: Log;
}

/**
 * Metrics of what all processes share. Only the worker that holds a lease exports them, because dashboards sum over
 * pods; they have no values in other workers, or where a store does not answer.
 */
export function startSharedMetrics({ metrics, db, redis, redisPrefix, shards, log }: SharedMetricsOptions): Lease {
  const lease = holdLease(redis, redisKeys(redisPrefix).metricsLease);
  const queues = openQueues(shards);
  // One query at a time: unanswered queries must not pile up with every scrape.
  const readDepths = shareRunning(() =>
    Promise.all(
      queues.map(async ({ name, parts }) => {
        const depths = await Promise.all(parts.map((part) => readQueueDepth(part.queue, part.redis)));
        return { name, ...sumOf(depths) };
      }),
    ),
  );
  const readPendingWork = shareRunning(() => countPendingWork(db.knex));
  metrics.onScrape(async () => {
    const [depths, pendingWork] = lease.held()
      ? await Promise.all([readInTime('Redis', readDepths), readInTime('the database', readPendingWork)])
      : [];
    // The lease may have been lost while a store was slow.
    setDepths(lease.held() ? depths : undefined);
    setPendingWork(lease.held() ? pendingWork : undefined);
  });

  async function readInTime<T>(store: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await withDeadline(ANSWER_MS, read());
    } catch (error) {
      log.warn({ store, error: describeError(error) }, 'The scrape lacks the values of a store that did not answer');
      return undefined;
    }
  }

  function setDepths(depths: Awaited<ReturnType<typeof readDepths>> = []): void {
    metrics.queueJobs.reset();
    metrics.queueOldestWaitingSeconds.reset();
    for (const { name: queue, counts, oldestWaitingSince } of depths) {
      for (const [state, count] of Object.entries(counts)) metrics.queueJobs.set({ queue, state }, count);
      const waitedMs = oldestWaitingSince === undefined ? 0 : Math.max(0, Date.now() - oldestWaitingSince);
      metrics.queueOldestWaitingSeconds.set({ queue }, waitedMs / 1000);
    }
  }

  function setPendingWork(pendingWork: PendingWork | undefined): void {
    metrics.deadLetters.remove();
    metrics.purgesPending.remove();
    if (pendingWork === undefined) return;
    metrics.deadLetters.set(pendingWork.deadLetters);
    metrics.purgesPending.set(pendingWork.purges);
  }

  return lease;
}

/** Each queue with its parts in the shards. */
function openQueues(shards: Shard[]): { name: string; parts: { queue: Queue; redis: Redis }[] }[] {
  const opened = shards.map(({ redis, prefix }) => ({ redis, queues: openCaptureQueues(redis, prefix) }));
  const [{ redis, prefix }] = shards as [Shard];
  return [
    ...CAPTURE_QUEUES.map((name) => ({
      name,
      parts: opened.map((shard) => ({ ...shard, queue: shard.queues[name] })),
    })),
    { name: MAINTENANCE_QUEUE, parts: [{ redis, queue: openMaintenanceQueue(redis, prefix) }] },
  ];
}
