import { beforeEach, expect, test } from 'vitest';
import { redisKeys } from '../../src/redis/keys.ts';
import { GroupWorker } from '../../src/worker/group-worker.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
useEnvironment(async (opened) => {
  environment = opened;
});
beforeEach(() => environment.queue.obliterate({ force: true }));

interface Trial {
  /** Jobs that were begun and have not ended. */
  running: Set<string>;
  errors: string[];
  finishOne(): void;
  /** Closes the worker, and leaves its jobs to run. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** A worker whose jobs run until they are told to finish. */
function startWorker(concurrency: number): Trial {
  const running = new Set<string>();
  const errors: string[] = [];
  const waiting: (() => void)[] = [];
  const worker = new GroupWorker<unknown>(
    'capture',
    environment.redis.duplicate({ maxRetriesPerRequest: null }),
    async (job) => {
      running.add(job.id as string);
      await new Promise<void>((resolve) => waiting.push(resolve));
      running.delete(job.id as string);
    },
    { prefix: redisKeys(environment.config.redis.prefix).queues, concurrency },
  );
  worker.on('error', (error) => errors.push(error.message));
  return closing(
    {
      running,
      errors,
      finishOne: () => waiting.shift()?.(),
      stop: () => worker.close(),
      async close() {
        const closed = worker.close();
        for (;;) {
          waiting.shift()?.();
          if (await Promise.race([closed.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]))
            return;
        }
      },
    },
    (trial) => trial.close(),
  );
}

const addJobs = (count: number) =>
  environment.queue.addBulk(
    Array.from({ length: count }, () => ({ name: 'batch', data: { v: 1, day: '2026-03-01', captures: [] } })),
  );

test('a worker has no more jobs in hand than it may, and takes others as these end', async () => {
  await addJobs(5);
  const worker = startWorker(3);
  await eventually(() => worker.running.size === 3);
  expect(await environment.queue.getWaitingCount()).toBe(2);
  worker.finishOne();
  await eventually(async () => (await environment.queue.getWaitingCount()) === 1 && worker.running.size === 3);
  await addJobs(1);
  await eventually(async () => {
    worker.finishOne();
    return (await environment.queue.getJobCountByTypes('waiting', 'active')) === 0;
  });
  expect(worker.errors).toEqual([]);
});

test('the jobs of a paused queue are left alone until it is resumed', async () => {
  const worker = startWorker(3);
  await addJobs(1);
  await eventually(() => worker.running.size === 1);
  await environment.queue.pause();
  await addJobs(2);
  worker.finishOne();
  await eventually(() => worker.running.size === 0);
  expect(await environment.queue.getWaitingCount()).toBe(2);
  await environment.queue.resume();
  await eventually(() => worker.running.size === 2);
  expect(worker.errors).toEqual([]);
});

test('a worker that closes waits for the jobs that run, and finishes them', async () => {
  await addJobs(1);
  const worker = startWorker(3);
  await eventually(() => worker.running.size === 1);
  let isClosed = false;
  const closed = worker.stop().then(() => (isClosed = true));
  // Long enough for a worker that does not wait.
  let asked = 0;
  await eventually(async () => (await environment.queue.getActiveCount()) === 1 && (asked += 1) > 20);
  expect(isClosed).toBe(false);
  worker.finishOne();
  await closed;
  expect(await environment.queue.getJobCountByTypes('waiting', 'active')).toBe(0);
});
