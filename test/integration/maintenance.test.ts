import { expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { parsePlans } from '../../src/plans.ts';
import { isPrepared, openMaintenanceQueue } from '../../src/queue/maintenance-queue.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { startMaintenance } from '../../src/worker/maintenance.ts';
import { createWorkerMetrics } from '../../src/worker/metrics.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;

useEnvironment((opened) => {
  environment = opened;
});

test('sweeps continue after Redis was replaced by an empty one', async () => {
  const { db, redis, config } = environment;
  const { prefix } = config.redis;
  const metrics = createWorkerMetrics();
  const locks = { lockDuration: 30_000, stalledInterval: 15_000, maxStalledCount: 1_000 };
  const queues = redisKeys(prefix).queues;
  const running = startMaintenance({
    db,
    redis,
    redisPrefix: prefix,
    plans: parsePlans(undefined),
    expiredGraceMs: 0,
    metrics,
    scheduleCheckMs: 50,

    log: createLog('silent'),
    shards: [{ prefix, redis }],
    locks,
  });
  closing(running, (open) => open.close());
  const queue = openMaintenanceQueue(redis, prefix);
  await eventually(() => isPrepared(queue));
  await eventually(async () => (await metrics.sweepLastSuccess.get()).values.some(({ value }) => value > 0));
  await redis.unlink(await redis.keys(`${queues}:maintenance:*`));
  metrics.sweepLastSuccess.reset();
  await eventually(() => isPrepared(queue));
  await eventually(async () => (await metrics.sweepLastSuccess.get()).values.some(({ value }) => value > 0));
  expect(await queue.getJobSchedulersCount()).toBe(1);
});
