import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, type JobsOptions, type QueueOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { encodeBatch, encodeLarge, type CaptureBatchJob } from '../domain/capture-batch.ts';
import type { CapturedRequest } from '../domain/captured-request.ts';

/** Batches of many small captures, and single large ones, which take much memory wherever they are loaded. */
export const CAPTURE_QUEUES = ['capture', 'capture-large'] as const;
export type CaptureQueueName = (typeof CAPTURE_QUEUES)[number];

/** How long a read or delete waits for acknowledged captures to be stored, in milliseconds. */
const IN_FLIGHT_BOUND_MS = 2_000;

/** Beyond this many waiting batches the bound would pass anyway, so that reads don't wait in vain. */
const IN_FLIGHT_MAX_BATCHES = 1_000;

/**
 * A job that throws is not the database's fault (outages are waited out inside the job):
 * it is tried for about ten minutes and then kept as failed for an operator.
 */
const JOB_OPTIONS: JobsOptions = {
  attempts: 25,
  backoff: { type: 'capped' },
  removeOnComplete: true,
  removeOnFail: false,
};

export type CaptureQueue = Queue<CaptureBatchJob>;
export type CaptureQueues = Record<CaptureQueueName, CaptureQueue>;

/** The hash tag keeps all keys of the queues in one Redis Cluster slot, as BullMQ's scripts need. */
export function queuePrefix(redisPrefix: string): string {
  return `{${redisPrefix}}`;
}

/**
 * With `skipWaitingForReady` and `skipVersionCheck` an enqueue fails at once while Redis is away
 * and works again when it is back; any other combination hangs or stays broken.
 * No event stream: nobody reads it, and it would double the work of an enqueue.
 */
export function queueOptions(connection: Redis, redisPrefix: string): QueueOptions {
  return {
    connection,
    prefix: queuePrefix(redisPrefix),
    skipWaitingForReady: true,
    skipVersionCheck: true,
    streams: { events: { maxLen: 0 } },
  };
}

export function openCaptureQueues(connection: Redis, redisPrefix: string): CaptureQueues {
  const open = (name: CaptureQueueName): CaptureQueue => {
    const queue: CaptureQueue = new Queue(name, { ...queueOptions(connection, redisPrefix), defaultJobOptions: JOB_OPTIONS });
    // The connection reports its own errors.
    queue.on('error', () => {});
    return queue;
  };
  return { capture: open('capture'), 'capture-large': open('capture-large') };
}

/** Captures that travel in one job; `id` is the job's, `day` the UTC day that they count for. */
export interface EnqueuedBatch {
  id: string;
  day: string;
  captures: readonly CapturedRequest[];
}

/** Those of the batches whose jobs are in Redis. */
export async function findQueued(queues: CaptureQueues, redis: Redis, batchIds: readonly string[]): Promise<string[]> {
  const found = await Promise.all(batchIds.map((id) => redis.exists(...CAPTURE_QUEUES.map((name) => queues[name].toKey(id)))));
  return batchIds.filter((_id, i) => (found[i] ?? 0) > 0);
}

/**
 * Puts captures into Redis as one job; they are kept once this resolves.
 *
 * @throws when Redis refused them, was unreachable, or did not answer in time (they may be kept then)
 */
export async function enqueueCaptures(queue: CaptureQueue, batch: EnqueuedBatch): Promise<void> {
  await queue.add('batch', encodeBatch(batch.day, batch.captures), { jobId: batch.id });
}

/**
 * The same for one large capture, whose body goes as bytes and before the job: JSON would hold the event loop, and
 * take several times its memory. There is never a job without its body; a body without a job is removed by whoever
 * takes back the reservation of its batch.
 */
export async function enqueueLargeCapture(queue: CaptureQueue, redis: Redis, { id, day, captures }: EnqueuedBatch): Promise<void> {
  const [capture] = captures;
  if (capture === undefined || captures.length > 1) throw new Error('a large capture travels alone');
  await redis.set(bodyKey(queue, id), capture.body);
  await queue.add('batch', encodeLarge(day, capture), { jobId: id });
}

/** The body of a large capture; null once it was removed. */
export function readLargeBody(queue: CaptureQueue, redis: Redis, batchId: string): Promise<Buffer | null> {
  return redis.getBuffer(bodyKey(queue, batchId));
}

/** To be called when the capture is stored, or certainly never will be. */
export async function removeLargeBody(queue: CaptureQueue, redis: Redis, batchId: string): Promise<void> {
  await redis.unlink(bodyKey(queue, batchId));
}

/** In the Redis Cluster slot of the queue. */
function bodyKey(queue: CaptureQueue, batchId: string): string {
  return queue.toKey(`body:${batchId}`);
}

/**
 * A function that waits until every capture that was acknowledged before its call is stored, for at
 * most two seconds, and tells how many batches still are not: 0 in the common case.
 * However many callers wait, one of them asks Redis at a time.
 *
 * The function throws when Redis can't be asked.
 */
export function createInFlightWait(queues: CaptureQueues): () => Promise<number> {
  const snapshot = shareNext(() => inFlight(queues));
  return async () => {
    const deadline = performance.now() + IN_FLIGHT_BOUND_MS;
    let awaited = await snapshot();
    for (let pauseMs = 2; awaited.size > 0; pauseMs = Math.min(pauseMs * 2, 50)) {
      if (awaited.size > IN_FLIGHT_MAX_BATCHES || performance.now() + pauseMs > deadline) return awaited.size;
      await sleep(pauseMs);
      awaited = awaited.intersection(await snapshot());
    }
    return 0;
  };
}

/**
 * Ids of the jobs that are not done, read of each queue in one script and so at one instant. The oldest
 * ones, where there are too many: those that a caller waits for must not be pushed out of sight by later ones.
 */
async function inFlight(queues: CaptureQueues): Promise<Set<string>> {
  const lists = await Promise.all(CAPTURE_QUEUES.map((name) => queues[name].getRanges(['wait', 'active', 'delayed'], 0, IN_FLIGHT_MAX_BATCHES, true)));
  return new Set(lists.flat());
}

/** Calls that come while one is running share the next one: each gets an answer that began after it asked. */
function shareNext<T>(ask: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    const asked = ask();
    running = asked;
    const over = (): void => void (running === asked && (running = undefined));
    asked.then(over, over);
    return asked;
  };
  return () => {
    if (running === undefined) return start();
    const startNext = (): Promise<T> => {
      next = undefined;
      return start();
    };
    next ??= running.then(startNext, startNext);
    return next;
  };
}
