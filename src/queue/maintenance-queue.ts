import { Queue, type JobsOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { queueOptions } from './capture-queue.ts';

export const MAINTENANCE_QUEUE = 'maintenance';

/** Sweeps run once a minute, whatever the number of workers. */
const SWEEP_EVERY_MS = 60_000;
const SWEEP_SCHEDULER = 'sweep';

/** A failed sweep is not repeated: the next one, a minute later, continues. */
const JOB_OPTIONS: JobsOptions = { removeOnComplete: true, removeOnFail: { count: 100 } };

export type MaintenanceQueue = Queue;

export function openMaintenanceQueue(connection: Redis, redisPrefix: string): MaintenanceQueue {
  const queue = new Queue(MAINTENANCE_QUEUE, {
    ...queueOptions(connection, redisPrefix),
    defaultJobOptions: JOB_OPTIONS,
  });
  // The connection reports its own errors.
  queue.on('error', () => {});
  return queue;
}

/** Whether Redis has the schedule; one that was emptied has none. */
export async function isPrepared(queue: MaintenanceQueue): Promise<boolean> {
  const [schedule, concurrency] = await Promise.all([
    queue.getJobScheduler(SWEEP_SCHEDULER),
    queue.getGlobalConcurrency(),
  ]);
  return schedule !== undefined && schedule !== null && concurrency === 1;
}

/** Creates the one schedule, and allows one sweep at a time; every worker calls this at its start. */
export async function prepareMaintenance(queue: MaintenanceQueue): Promise<void> {
  await queue.setGlobalConcurrency(1);
  await queue.upsertJobScheduler(SWEEP_SCHEDULER, { every: SWEEP_EVERY_MS }, { name: 'sweep', opts: JOB_OPTIONS });
}

/** Requests a sweep now; concurrent requests share one, which begins after the last of them. */
export async function requestSweep(queue: MaintenanceQueue): Promise<void> {
  await queue.add('sweep', {}, { deduplication: { id: 'requested', keepLastIfActive: true } });
}
