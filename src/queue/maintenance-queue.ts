import { Queue, type JobsOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { queueOptions } from './capture-queue.ts';

export const MAINTENANCE_QUEUE = 'maintenance';

/** Sweeps run once a minute however many workers there are. */
const SWEEP_EVERY_MS = 60_000;
const SWEEP_SCHEDULER = 'sweep';

/** A sweep that fails is not repeated by itself: the next one, a minute later, takes up its work. */
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

/** Makes sure of the one schedule, and of one sweep at a time; every worker calls it at its start. */
export async function prepareMaintenance(queue: MaintenanceQueue): Promise<void> {
  await queue.setGlobalConcurrency(1);
  await queue.upsertJobScheduler(SWEEP_SCHEDULER, { every: SWEEP_EVERY_MS }, { name: 'sweep', opts: JOB_OPTIONS });
}

/** Asks for a sweep now; many askers at once share one, which begins after the last of them asked. */
export async function requestSweep(queue: MaintenanceQueue): Promise<void> {
  await queue.add('sweep', {}, { deduplication: { id: 'requested', keepLastIfActive: true } });
}
