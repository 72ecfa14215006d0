import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { newEndpointId } from '../../src/domain/ids.ts';
import { createLog } from '../../src/log.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { createEndpointCache, type EndpointCache } from '../../src/redis/endpoint-cache.ts';
import type { CaptureTarget } from '../../src/store/capture-targets.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

type FindInDatabase = (key: string) => Promise<CaptureTarget | undefined>;

/** A pod's cache over the shared Redis, with a database that answers when the test lets it. */
async function openPod(
  findInDatabase: FindInDatabase,
  subscriberPort = environment.config.redis.port,
): Promise<EndpointCache> {
  const { redis: config } = environment.config;
  const log = createLog('silent');
  const redis = closing(openRedis(config, 'cache', log), closeRedis);
  const subscriber = closing(openRedis({ ...config, port: subscriberPort }, 'subscriber', log), closeRedis);
  const cache = closing(
    createEndpointCache({ redis, subscriber, prefix: config.prefix, log, findInDatabase }),
    (open) => open.stop(),
  );
  await eventually(async () => (await redis.ping()) === 'PONG' && cache.isListening());
  return cache;
}

/** Changes the plan as a request with a token of that plan does. */
async function changePlan(pod: EndpointCache, userId: string, plan: string): Promise<void> {
  await pod.finishPlanChange(userId, await pod.beginPlanChange(userId), plan);
}

const newTarget = (fields: Partial<CaptureTarget> = {}): CaptureTarget => ({
  id: newEndpointId(),
  userId: 'ann',
  plan: 'pro',
  expiresAt: null,
  response: null,
  responseVersion: 0,
  ...fields,
});

test.each([
  ['a permanent endpoint', newTarget()],
  ['a time-limited endpoint', newTarget({ expiresAt: new Date(Date.now() + 3_600_000) })],
])("%s that is deleted during another pod's look-up does not reappear", async (_name, target) => {
  const answer = Promise.withResolvers<CaptureTarget | undefined>();
  const asked = Promise.withResolvers<void>();
  const late = await openPod(() => {
    asked.resolve();
    return answer.promise;
  });
  const deleting = await openPod(async () => undefined);
  const found = late.find(target.id);
  await asked.promise;
  await deleting.withCapturesStopped(target, async () => true);
  // The row was read before the delete.
  answer.resolve(target);
  expect(await found).toBeUndefined();
  expect(await late.find(target.id)).toBeUndefined();
  expect(await deleting.find(target.id)).toBeUndefined();
});

test("a plan that changes during another pod's look-up of the endpoint is the new one", async () => {
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
  await changePlan(other, 'bob', 'pro');
  answer.resolve(target);
  expect((await found)?.plan).toBe('pro');
  await eventually(async () => (await late.find(target.id))?.plan === 'pro');
});

test('after a delete that fails captures continue, and does not undo another one that succeeded', async () => {
  const target = newTarget();
  const pod = await openPod(async () => undefined);
  await pod.created(target, null);
  await changePlan(pod, 'ann', 'pro');
  await expect(
    pod.withCapturesStopped(target, () => Promise.reject(new Error('database unreachable'))),
  ).rejects.toThrow('database unreachable');
  expect(await pod.find(target.id)).toMatchObject({ id: target.id, plan: 'pro' });

  const failing = Promise.withResolvers<never>();
  const first = pod.withCapturesStopped(target, () => failing.promise);
  const other = await openPod(async () => undefined);
  await other.withCapturesStopped(target, async () => true);
  failing.reject(new Error('lost the race'));
  await expect(first).rejects.toThrow('lost the race');
  expect(await pod.find(target.id)).toBeUndefined();
  expect(await other.find(target.id)).toBeUndefined();
});

test('endpoints in Redis are found while the database is unreachable', async () => {
  const pod = await openPod(() => Promise.reject(new Error('database unreachable')));
  const target = newTarget({ userId: 'carol' });
  await changePlan(pod, 'carol', 'pro');
  await pod.created(target, 'some-alias');
  for (const key of [target.id, 'some-alias'])
    expect(await pod.find(key)).toMatchObject({ id: target.id, userId: 'carol' });
  await expect(pod.find(newEndpointId())).rejects.toThrow('database unreachable');
});

/** Counts the reads of one of this environment's keys with MONITOR; ioredis sometimes loses its position in that. */
async function watchReads(key: string): Promise<() => number> {
  const { port, password, prefix } = environment.config.redis;
  const socket = closing(connect(port, '127.0.0.1'), (open) => void open.destroy());
  let [text, count] = ['', 0];
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split('\r\n');
    text = lines.pop() ?? '';
    count += lines.filter((line) => line.toLowerCase().endsWith(`] "get" "${prefix}:${key}"`)).length;
  });
  socket.write(`${password === undefined ? '' : `AUTH ${password}\r\n`}MONITOR\r\n`);
  await eventually(async () => {
    await environment.redis.get(`${prefix}:${key}`);
    return count > 0;
  });
  count = 0;
  return () => count;
}

describe('announcements', () => {
  test("other users' constant creates and deletes drop none of a user's copies", async () => {
    const [capturing, changing] = [await openPod(async () => undefined), await openPod(async () => undefined)];
    const target = newTarget({ userId: 'dan' });
    await capturing.created(target, null);
    await changePlan(capturing, 'dan', 'pro');
    const reads = await watchReads(`endpoint:${target.id}`);
    for (let round = 0; round < 200; round += 1) {
      const other = newTarget({ userId: 'eve' });
      await changing.created(other, `alias-${round}`);
      if (round % 3 === 0) await changePlan(changing, 'eve', round % 2 === 0 ? 'pro' : 'free');
      expect(await capturing.find(target.id)).toMatchObject({ id: target.id, plan: 'pro' });
      await changing.withCapturesStopped(other, async () => true);
      expect(await capturing.find(target.id)).toMatchObject({ id: target.id, plan: 'pro' });
    }
    // The first look-up, and one in five seconds; dropping copies at every announcement would make it most of the 400.
    await eventually(() => reads() > 0);
    expect(reads()).toBeLessThan(100);
  });

  test('reach other pods for an id, an alias and a plan', async () => {
    const [here, there] = [await openPod(async () => undefined), await openPod(async () => undefined)];
    const target = newTarget({ userId: 'fay' });
    await here.created(target, 'fays-hook');
    await changePlan(here, 'fay', 'free');
    for (const key of [target.id, 'fays-hook'])
      expect(await there.find(key)).toMatchObject({ id: target.id, plan: 'free' });
    await changePlan(here, 'fay', 'pro');
    for (const key of [target.id, 'fays-hook'])
      await eventually(async () => (await there.find(key))?.plan === 'pro', 2_000);
    const next = newTarget({ userId: 'fay' });
    await here.created(next, 'fays-hook');
    await eventually(async () => (await there.find('fays-hook'))?.id === next.id, 2_000);
    await here.withCapturesStopped(next, async () => true);
    for (const key of [next.id, 'fays-hook'])
      await eventually(async () => (await there.find(key)) === undefined, 2_000);
    expect(await there.find(target.id)).toMatchObject({ id: target.id });
  });

  test('of earlier versions, which name no keys, drop all copies', async () => {
    const pod = await openPod(async () => undefined);
    const target = newTarget({ userId: 'gus' });
    await pod.created(target, null);
    await changePlan(pod, 'gus', 'pro');
    expect(await pod.find(target.id)).toMatchObject({ plan: 'pro' });
    // As a version does that writes, and announces only that something changed.
    await environment.redis.set(`${environment.config.redis.prefix}:plan:gus`, 'free');
    await environment.redis.publish(`${environment.config.redis.prefix}:invalidate`, '');
    await eventually(async () => (await pod.find(target.id))?.plan === 'free', 2_000);
  });

  test('a pod whose connection for them hangs relies on Redis until it is subscribed again', async () => {
    const proxy = closing(await startProxy(environment.config.redis.port), (open) => open.close());
    const [deaf, other] = [await openPod(async () => undefined, proxy.port), await openPod(async () => undefined)];
    const target = newTarget({ userId: 'hal' });
    await other.created(target, null);
    await changePlan(other, 'hal', 'pro');
    expect(await deaf.find(target.id)).toMatchObject({ plan: 'pro' });
    proxy.refuseNew();
    proxy.silenceExisting();
    await eventually(() => !deaf.isListening());
    // It is notified of nothing, and still has the current state.
    for (const plan of ['free', 'enterprise', 'pro']) {
      await changePlan(other, 'hal', plan);
      expect(await deaf.find(target.id)).toMatchObject({ plan });
    }
    await other.withCapturesStopped(target, async () => true);
    expect(await deaf.find(target.id)).toBeUndefined();
    proxy.takeNew();
    await eventually(() => deaf.isListening());
  });
});

test('a new endpoint is found at once on a pod that looked its alias up all the time before', async () => {
  const rows = new Map<string, CaptureTarget>();
  const [creating, asking] = [await openPod(async () => undefined), await openPod(async (key) => rows.get(key))];
  await changePlan(creating, 'ivy', 'pro');
  for (let round = 0; round < 20; round += 1) {
    const target = newTarget({ userId: 'ivy' });
    const alias = `ivys-hook-${round}`;
    let going = true;
    const askers = Array.from({ length: 4 }, async () => {
      for (; going; await setImmediate()) await asking.find(alias);
    });
    rows.set(alias, target);
    await creating.created(target, alias);
    expect(await asking.find(alias)).toMatchObject({ id: target.id });
    going = false;
    await Promise.all(askers);
  }
});
