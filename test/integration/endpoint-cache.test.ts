import { afterAll, beforeAll, expect, test } from 'vitest';
import { newEndpointId } from '../../src/domain/ids.ts';
import { createLog } from '../../src/log.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { createEndpointCache, type EndpointCache } from '../../src/redis/endpoint-cache.ts';
import type { CaptureTarget } from '../../src/store/endpoints.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
beforeAll(async () => {
  environment = await openEnvironment();
});
afterAll(() => environment.close());

type FindInDatabase = (key: { id: string } | { alias: string }) => Promise<CaptureTarget | undefined>;

/** A pod's cache over the common Redis, with a database that answers when the test wants it to. */
async function openPod(findInDatabase: FindInDatabase): Promise<EndpointCache> {
  const { redis: config } = environment.config;
  const log = createLog('silent');
  const redis = closing(openRedis(config, 'cache', log), closeRedis);
  const subscriber = closing(openRedis(config, 'subscriber', log), closeRedis);
  const cache = createEndpointCache({ redis, subscriber, prefix: config.prefix, log, findInDatabase });
  await eventually(async () => (await redis.ping()) === 'PONG' && Number((await environment.redis.pubsub('NUMSUB', `${config.prefix}:invalidate`))[1]) > 0);
  return cache;
}

const newTarget = (fields: Partial<CaptureTarget> = {}): CaptureTarget => ({ id: newEndpointId(), userId: 'ann', plan: 'pro', expiresAt: null, ...fields });

test.each([
  ['a permanent endpoint', newTarget()],
  ['a time-limited endpoint', newTarget({ expiresAt: new Date(Date.now() + 3_600_000) })],
])('%s that is deleted while another pod looks it up does not come back', async (_name, target) => {
  const answer = Promise.withResolvers<CaptureTarget | undefined>();
  const asked = Promise.withResolvers<void>();
  const late = await openPod(() => {
    asked.resolve();
    return answer.promise;
  });
  const deleting = await openPod(async () => undefined);
  const found = late.find(target.id);
  await asked.promise;
  await deleting.whileStopped(target, async () => true);
  // The row was read before the delete.
  answer.resolve(target);
  expect(await found).toBeUndefined();
  expect(await late.find(target.id)).toBeUndefined();
  expect(await deleting.find(target.id)).toBeUndefined();
});

test('a plan that changes while another pod looks the endpoint up is the new one', async () => {
  const target = newTarget({ userId: 'bob', plan: 'free' });
  const answer = Promise.withResolvers<CaptureTarget | undefined>();
  const asked = Promise.withResolvers<void>();
  const late = await openPod(() => {
    asked.resolve();
    return answer.promise;
  });
  const other = await openPod(async () => undefined);
  const found = late.find(target.id);
  await asked.promise;
  await other.planChanged('bob', 'pro');
  answer.resolve(target);
  expect((await found)?.plan).toBe('pro');
  await eventually(async () => (await late.find(target.id))?.plan === 'pro');
});

test('a delete that fails lets captures go on, and does not undo another one that succeeded', async () => {
  const target = newTarget();
  const pod = await openPod(async () => undefined);
  await pod.created(target, null);
  await expect(pod.whileStopped(target, () => Promise.reject(new Error('database away')))).rejects.toThrow('database away');
  expect(await pod.find(target.id)).toMatchObject({ id: target.id, plan: 'pro' });

  const failing = Promise.withResolvers<never>();
  const first = pod.whileStopped(target, () => failing.promise);
  const other = await openPod(async () => undefined);
  await other.whileStopped(target, async () => true);
  failing.reject(new Error('lost the race'));
  await expect(first).rejects.toThrow('lost the race');
  expect(await pod.find(target.id)).toBeUndefined();
  expect(await other.find(target.id)).toBeUndefined();
});

test('while the database is away endpoints that Redis knows are found', async () => {
  const pod = await openPod(() => Promise.reject(new Error('database away')));
  const target = newTarget({ userId: 'carol' });
  await pod.created(target, 'some-alias');
  for (const key of [target.id, 'some-alias']) expect(await pod.find(key)).toMatchObject({ id: target.id, userId: 'carol' });
  await expect(pod.find(newEndpointId())).rejects.toThrow('database away');
});
