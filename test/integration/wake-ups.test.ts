import { randomUUID, randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import type { RedisConfig } from '../../src/config.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { PACE, startWakeUps, wakeFollowers, type WakeUps } from '../../src/redis/wake-ups.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';

const log = createLog('silent');
const NEVER = new AbortController().signal;
const USUAL = { ...PACE };

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});
afterEach(() => void Object.assign(PACE, USUAL));

/** Wake-ups on a connection of their own; `isReady` when that is up. */
function start(config: Partial<RedisConfig> = {}): WakeUps & { isReady: () => boolean } {
  const { redis } = environment.config;
  const subscriber = closing(openRedis({ ...redis, ...config }, 'follower', log), closeRedis);
  const wakeUps = closing(startWakeUps({ subscriber, prefix: redis.prefix, log }), (open) => open.stop());
  return { ...wakeUps, isReady: () => subscriber.status === 'ready' };
}

const publish = (id: string): Promise<void> => wakeFollowers(environment.redis, environment.config.redis.prefix, id);

const channels = async (): Promise<string[]> =>
  (await environment.redis.call('PUBSUB', 'SHARDCHANNELS', `${environment.config.redis.prefix}:*`)) as string[];

test('what is published after `follow` resolved wakes the follower, however slow the way to Redis is', async () => {
  Object.assign(PACE, { atLeastEveryMs: 600_000, unheardEveryMs: 600_000 });
  const proxy = closing(await startProxy(environment.config.redis.port, 200), (open) => open.close());
  const wakeUps = start({ host: '127.0.0.1', port: proxy.port });
  await eventually(() => wakeUps.isReady());
  for (let round = 0; round < 5; round += 1) {
    const id = randomUUID();
    const following = await wakeUps.follow(id, NEVER);
    await publish(id);
    await following.next();
    following.leave();
  }
  expect(wakeUps.isReady()).toBe(true);
});

test('a wake-up that comes during a look is remembered', async () => {
  Object.assign(PACE, { atLeastEveryMs: 600_000, unheardEveryMs: 600_000 });
  const wakeUps = start();
  await eventually(() => wakeUps.isReady());
  const id = randomUUID();
  const [looking, waiting] = [await wakeUps.follow(id, NEVER), await wakeUps.follow(id, NEVER)];
  await publish(id);
  await waiting.next();
  await looking.next();
  for (const one of [looking, waiting]) one.leave();
  expect(wakeUps.isReady()).toBe(true);
}, 20_000);

test('a follower is woken at most ten times a second, and once for all that came meanwhile', async () => {
  const wakeUps = start();
  await eventually(() => wakeUps.isReady());
  const id = randomUUID();
  const following = await wakeUps.follow(id, NEVER);
  let stopped = false;
  const publishing = (async () => {
    let published = 0;
    for (; !stopped; published += 1) await publish(id);
    return published;
  })();
  const began = performance.now();
  let looks = 0;
  for (; looks < 10; looks += 1) await following.next();
  const elapsed = performance.now() - began;
  stopped = true;
  expect(await publishing).toBeGreaterThan(2 * looks);
  // A timer may fire a fraction of a millisecond early.
  expect(looks).toBeLessThanOrEqual(Math.ceil(elapsed / PACE.atMostEveryMs) + 1);
  following.leave();
});

test('followers look when the connection broke, and again when it is back; then they are woken as before', async () => {
  Object.assign(PACE, { atLeastEveryMs: 600_000, unheardEveryMs: 600_000 });
  const proxy = closing(await startProxy(environment.config.redis.port), (open) => open.close());
  const wakeUps = start({ host: '127.0.0.1', port: proxy.port });
  await eventually(() => wakeUps.isReady());
  const [id, later] = [randomUUID(), randomUUID()];
  const following = await wakeUps.follow(id, NEVER);
  proxy.refuseNew();
  proxy.breakExisting();
  await following.next();
  // Follows during the outage, and does not wait for its end.
  const second = await wakeUps.follow(later, NEVER);
  proxy.takeNew();
  await Promise.all([following.next(), second.next()]);
  await Promise.all([publish(id), publish(later)]);
  await Promise.all([following.next(), second.next()]);
  for (const one of [following, second]) one.leave();
  await eventually(async () => (await channels()).length === 0);
  expect(wakeUps.isReady()).toBe(true);
});

test('a connection that hangs silently is detected, and followers look', async () => {
  Object.assign(PACE, { atLeastEveryMs: 600_000, unheardEveryMs: 600_000 });
  const proxy = closing(await startProxy(environment.config.redis.port), (open) => open.close());
  const wakeUps = start({ host: '127.0.0.1', port: proxy.port });
  await eventually(() => wakeUps.isReady());
  const id = randomUUID();
  const following = await wakeUps.follow(id, NEVER);
  proxy.silenceExisting();
  await following.next();
  await following.next();
  await publish(id);
  await following.next();
  following.leave();
  expect(wakeUps.isReady()).toBe(true);
});

test('where Redis forbids subscribing, followers look at the slow pace, until it allows it', async () => {
  const name = `user-${randomBytes(6).toString('hex')}`;
  const acl = (...rules: string[]): Promise<unknown> => environment.redis.call('ACL', 'SETUSER', name, ...rules);
  await acl('on', '>secret', '~*', '&*', '+@all', '-ssubscribe');
  closing(name, async () => void (await environment.redis.call('ACL', 'DELUSER', name)));
  const wakeUps = start({ username: name, password: 'secret' });
  await eventually(() => wakeUps.isReady());
  const id = randomUUID();
  const following = await wakeUps.follow(id, NEVER);
  PACE.unheardEveryMs = 150;
  for (let look = 0; look < 3; look += 1) await following.next();
  await acl('+ssubscribe');
  await eventually(async () => {
    return (await channels()).some((channel) => channel.endsWith(id));
  });
  following.leave();
  expect(wakeUps.isReady()).toBe(true);
});

test('without wake-ups, and when one is lost, followers look all the same; an aborted one at once', async () => {
  Object.assign(PACE, { unheardEveryMs: 50, atLeastEveryMs: 50 });
  const { prefix } = environment.config.redis;
  const deaf = startWakeUps({ subscriber: undefined, prefix, log });
  await (await deaf.follow(randomUUID(), NEVER)).next();
  const wakeUps = start();
  await eventually(() => wakeUps.isReady());
  await (await wakeUps.follow(randomUUID(), NEVER)).next();
  Object.assign(PACE, { unheardEveryMs: 600_000, atLeastEveryMs: 600_000 });
  const leaving = new AbortController();
  const following = await deaf.follow(randomUUID(), leaving.signal);
  const looked = following.next();
  leaving.abort();
  await looked;
  await following.next();
  expect(leaving.signal.aborted).toBe(true);
});
