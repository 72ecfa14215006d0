import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';

/** The number of jobs of a queue by state, and since when (Unix milliseconds) the next one waits. */
export interface QueueDepth {
  counts: Record<'waiting' | 'active' | 'delayed' | 'failed', number>;
  oldestWaitingSince: number | undefined;
}

export async function readQueueDepth(queue: Queue, redis: Redis): Promise<QueueDepth> {
  const [{ waiting = 0, active = 0, delayed = 0, failed = 0 }, [next]] = await Promise.all([
    queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
    queue.getRanges(['wait'], 0, 0, true),
  ]);
  // Reads one field: the data of a job may be megabytes.
  const since = next === undefined ? null : await redis.hget(queue.toKey(next), 'timestamp');
  return {
    counts: { waiting, active, delayed, failed },
    oldestWaitingSince: since === null ? undefined : Number(since),
  };
}

/** The depth of a queue that is in several shards. */
export function sumOf(depths: readonly QueueDepth[]): QueueDepth {
  const sum = (state: keyof QueueDepth['counts']): number =>
    depths.reduce((total, { counts }) => total + counts[state], 0);
  const since = depths.map(({ oldestWaitingSince }) => oldestWaitingSince ?? Infinity);
  const oldest = Math.min(...since);
  return {
    counts: { waiting: sum('waiting'), active: sum('active'), delayed: sum('delayed'), failed: sum('failed') },
    oldestWaitingSince: oldest === Infinity ? undefined : oldest,
  };
}
