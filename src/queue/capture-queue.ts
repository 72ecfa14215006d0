import { Job, Queue, type JobsOptions, type QueueOptions, type RedisClient } from 'bullmq';
import type { Redis } from 'ioredis';
import { OutcomeUnknown } from '../deadline.ts';
import { encodeBatch, encodeLarge, type CaptureBatchJob } from '../domain/capture-job.ts';
import type { CapturedRequest } from '../domain/captured-request.ts';
import { redisKeys } from '../redis/keys.ts';
import { writeLargeBody } from './large-bodies.ts';

/** Batches of many small captures, and single large ones, which take much memory in every process. */
export const CAPTURE_QUEUES = ['capture', 'capture-large'] as const;
export type CaptureQueueName = (typeof CAPTURE_QUEUES)[number];

/** A job fails only by its own fault: it is tried for about seven minutes, then kept. */
const JOB_OPTIONS: JobsOptions = {
  attempts: 25,
  backoff: { type: 'capped' },
  removeOnComplete: true,
  removeOnFail: false,
};

export type CaptureQueue = Queue<CaptureBatchJob>;
export type CaptureQueues = Record<CaptureQueueName, CaptureQueue>;

/**
 * With `skipWaitingForReady` and `skipVersionCheck` an enqueue fails at once while Redis is unreachable, and works
 * again afterwards; other combinations hang or stay broken. The event stream is unused, and would double the work.
 */
export function queueOptions(connection: Redis, redisPrefix: string): QueueOptions {
  return {
    connection,
    prefix: redisKeys(redisPrefix).queues,
    skipWaitingForReady: true,
    skipVersionCheck: true,
    streams: { events: { maxLen: 0 } },
  };
}

export function openCaptureQueues(connection: Redis, redisPrefix: string): CaptureQueues {
  const open = (name: CaptureQueueName): CaptureQueue => {
    const queue: CaptureQueue = new Queue(name, {
      ...queueOptions(connection, redisPrefix),
      defaultJobOptions: JOB_OPTIONS,
    });
    // The connection reports its own errors.
    queue.on('error', () => {});
    return queue;
  };
  return { capture: open('capture'), 'capture-large': open('capture-large') };
}

/** Captures in one job; `id` is the job's, `day` the UTC day that they count for. */
export interface EnqueuedBatch {
  id: string;
  day: string;
  captures: readonly CapturedRequest[];
}

/** The batches whose jobs are in Redis. */
export async function findQueued(queues: CaptureQueues, redis: Redis, batchIds: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    batchIds.map((id) => redis.exists(...CAPTURE_QUEUES.map((name) => queues[name].toKey(id)))),
  );
  return batchIds.filter((_id, i) => (found[i] ?? 0) > 0);
}

/** @throws when Redis refused them, was unreachable, or did not answer in time (then they may be stored) */
export async function enqueueCaptures(queue: CaptureQueue, batch: EnqueuedBatch): Promise<void> {
  await queue.add('batch', encodeBatch(batch.day, batch.captures), { jobId: batch.id });
}

/** Scripts are lost when an operator removes them, or when Redis drops those that were used long ago. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/**
 * The same in one transaction with what `precede` adds to it: one round trip, and one fsync. The commands are sent one
 * by one, in one write: ioredis' `multi()` copies all scripts of BullMQ into each transaction, which takes 0.15 ms.
 * @param redis the queue's connection
 * @returns the reply to what `precede` added
 * @throws the error of the job, which is not enqueued then; OutcomeUnknown when what `precede` added failed alone
 */
export async function enqueueInTransaction(
  queue: CaptureQueue,
  redis: Redis,
  { id, day, captures }: EnqueuedBatch,
  precede: (client: RedisClient) => Promise<unknown>,
): Promise<unknown> {
  const backend = queue.getBackend();
  const client = await backend.client;
  const job = new Job(queue, 'batch', encodeBatch(day, captures), { ...JOB_OPTIONS, jobId: id }, id).asJSON();
  // There is none before the first connection.
  const stream = redis.stream as Redis['stream'] | undefined;
  stream?.cork();
  const sent = Promise.all([
    redis.multi({ pipeline: false }),
    precede(client),
    backend.addJobToTransaction(client, job, id),
    redis.exec(),
  ]);
  stream?.uncork();
  const [[error, reply] = [], [refusal] = []] = (await sent)[3] ?? [];
  if (refusal) throw refusal;
  if (!error) return reply;
  // On a new connection ioredis sends whole scripts, not their hashes.
  if (isUnknownScript(error)) redis.disconnect(true);
  throw new OutcomeUnknown('the command before the job failed', { cause: error });
}

/**
 * The same for one large capture. Its body is stored as bytes, before the job: as JSON it would block the event loop
 * and take several times its memory. A job always has its body; a body without a job is removed when the reservation of
 * its batch is refunded.
 */
export async function enqueueLargeCapture(
  queue: CaptureQueue,
  redis: Redis,
  redisPrefix: string,
  { id, day, captures }: EnqueuedBatch,
): Promise<void> {
  const [capture] = captures;
  if (capture === undefined || captures.length > 1) throw new Error('a large capture needs a job of its own');
  await writeLargeBody(redis, redisPrefix, id, capture.body);
  await queue.add('batch', encodeLarge(day, capture), { jobId: id });
}
