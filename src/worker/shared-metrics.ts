import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';
import type { WorkerMetrics } from './metrics.ts';
import { openCaptureQueues } from '../queue/capture-queue.ts';
import { MAINTENANCE_QUEUE, openMaintenanceQueue } from '../queue/maintenance-queue.ts';
import { readQueueDepth } from '../queue/queue-depth.ts';
import { redisKeys } from '../redis/keys.ts';
import { holdLease, type Lease } from '../redis/lease.ts';
import { countBacklog, type Backlog } from '../store/pending-work.ts';
import { shareRunning } from '../single-flight.ts';
import type { Database } from '../store/database.ts';

/** Scrapers give up after ten seconds by default; what a store does not tell in time is left out. */
const ANSWER_MS = 2_000;

export interface SharedMetricsOptions {
  metrics: WorkerMetrics;
  db: Database;
  redis: Redis;
  redisPrefix: string;
  log: Log;
}

/**
 * Metrics of what all processes share. They come from the one worker that holds a lease, because
 * dashboards add up over pods; in all others, and where a store does not answer, they have no values.
 */
export function startSharedMetrics({ metrics, db, redis, redisPrefix, log }: SharedMetricsOptions): Lease {
  const lease = holdLease(redis, redisKeys(redisPrefix).metricsLease);
  const captures = openCaptureQueues(redis, redisPrefix);
  const queues = Object.entries({ ...captures, [MAINTENANCE_QUEUE]: openMaintenanceQueue(redis, redisPrefix) });
  // One question at a time: those that a store leaves unanswered must not pile up with every scrape.
  const readDepths = shareRunning(() =>
    Promise.all(queues.map(async ([name, queue]) => ({ name, ...(await readQueueDepth(queue, redis)) }))),
  );
  const readBacklog = shareRunning(() => countBacklog(db.knex));
  metrics.onScrape(async () => {
    const [depths, backlog] = lease.held()
      ? await Promise.all([answerOf('Redis', readDepths), answerOf('the database', readBacklog)])
      : [];
    // The lease may have been lost while a store was slow.
    showDepths(lease.held() ? depths : undefined);
    showBacklog(lease.held() ? backlog : undefined);
  });

  async function answerOf<T>(store: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await withDeadline(ANSWER_MS, read());
    } catch (error) {
      log.warn({ store, error: describeError(error) }, 'Scraped without what a store did not tell');
      return undefined;
    }
  }

  function showDepths(depths: Awaited<ReturnType<typeof readDepths>> = []): void {
    metrics.queueJobs.reset();
    metrics.queueOldestWaitingSeconds.reset();
    for (const { name: queue, counts, oldestWaitingSince } of depths) {
      for (const [state, count] of Object.entries(counts)) metrics.queueJobs.set({ queue, state }, count);
      const waitedMs = oldestWaitingSince === undefined ? 0 : Math.max(0, Date.now() - oldestWaitingSince);
      metrics.queueOldestWaitingSeconds.set({ queue }, waitedMs / 1000);
    }
  }

  function showBacklog(backlog: Backlog | undefined): void {
    metrics.deadLetters.remove();
    metrics.purgesPending.remove();
    if (backlog === undefined) return;
    metrics.deadLetters.set(backlog.deadLetters);
    metrics.purgesPending.set(backlog.purges);
  }

  return lease;
}
