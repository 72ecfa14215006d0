import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, type Job, type Processor, type WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { createRoster } from '../roster.ts';

/** Between takes: under a light load the jobs that arrive meanwhile share a take, a transaction and a finish. */
const TAKE_EVERY_MS = 10;

/** After an error answer of Redis; an outage makes no error, because commands wait for its end. */
const TAKE_AGAIN_MS = 1_000;

/**
 * BullMQ's worker with a loop of its own, which takes all waiting jobs in one write, so with one flush to disk. BullMQ's
 * loop takes them one by one, with a flush for waking up, for taking and for finishing each. Locks, stalled jobs,
 * attempts and closing stay BullMQ's.
 */
export class GroupWorker<T> extends Worker<T, void> {
  readonly #redis: Redis;
  readonly #inHand = createRoster<Promise<void>>();
  #taken = 0;

  constructor(name: string, redis: Redis, processor: Processor<T, void>, options: Omit<WorkerOptions, 'connection'>) {
    // BullMQ would run it before the fields of this class exist.
    super(name, processor, { ...options, connection: redis, autorun: false });
    this.#redis = redis;
    this.run().catch((error: Error) => this.emit('error', error));
  }

  override async run(): Promise<void> {
    this.running = true;
    await this.startStalledCheckTimer();
    this.lockManager.start();
    this.mainLoopRunning = this.#takeGroups();
    await this.mainLoopRunning;
    this.running = false;
  }

  async #takeGroups(): Promise<void> {
    while (!this.closing) {
      try {
        await this.#take();
      } catch (error) {
        if (!this.closing) this.emit('error', error as Error);
        await sleep(TAKE_AGAIN_MS);
      }
      if (this.#inHand.size() >= this.concurrency) await Promise.race(this.#inHand);
      else await sleep(TAKE_EVERY_MS);
    }
    await Promise.all(this.#inHand);
  }

  /** Takes the jobs that wait; where there are none, or the queue is paused, waits for one. */
  async #take(): Promise<void> {
    const waiting = await this.#redis.llen(this.keys['wait'] as string);
    const room = this.concurrency - this.#inHand.size();
    writeTogether(this.#redis);
    const takeOne = (): Promise<boolean> => this.#begin(this.getNextJob(this.#token(), { block: false }));
    const replies = await Promise.allSettled(Array.from({ length: Math.min(waiting, room) }, takeOne));
    for (const reply of replies) if (reply.status === 'rejected') throw reply.reason;
    if (!replies.some((reply) => reply.status === 'fulfilled' && reply.value))
      await this.#begin(this.getNextJob(this.#token()));
  }

  #token(): string {
    this.#taken += 1;
    return `${this.id}:${this.#taken}`;
  }

  /** Resolves once the job is in hand, with false if there is none. */
  async #begin(next: Promise<Job<T, void> | undefined>): Promise<boolean> {
    const job = await next;
    if (job === undefined) return false;
    const finished = this.processJob(job, job.token as string, () => false)
      .catch((error: Error) => void this.emit('error', error))
      .then(() => leave());
    const leave = this.#inHand.add(finished);
    return true;
  }

  /** Jobs that end together are finished together. */
  protected override async callProcessJob(job: Job<T, void>, token: string, signal?: AbortSignal): Promise<void> {
    await super.callProcessJob(job, token, signal);
    writeTogether(this.#redis);
  }
}

/** What is sent until the next turn of the event loop goes to Redis in one write. */
function writeTogether(redis: Redis): void {
  // There is none before the first connection.
  const stream = redis.stream as Redis['stream'] | undefined;
  stream?.cork();
  setImmediate(() => stream?.uncork());
}
