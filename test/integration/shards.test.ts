import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { shards } from '../../src/commands/shards.ts';
import { createLog } from '../../src/log.ts';
import { recordedShards, recordShards } from '../../src/redis/shard-layout.ts';
import { shardOf, shardPrefixes } from '../../src/redis/shards.ts';
import { reconcileQuota } from '../../src/redis/quota.ts';
import { createResources } from '../../src/resources.ts';
import { captureOne, client, mintToken, send } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startRole } from '../support/processes.ts';

const CAP = 5;
const PLANS = JSON.stringify({ small: { dailyRequests: CAP } });

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

async function change(...args: string[]): Promise<string> {
  const resources = createResources(() => {});
  try {
    return await shards(args, environment.config.redis, resources, createLog('silent'));
  } finally {
    await resources.close();
  }
}

const start = async (number: number) => {
  const extra = { CAPTURE_QUEUE_SHARDS: String(number), PLANS };
  const worker = await environment.startWorker(extra);
  const api = await environment.startApi(extra);
  return { url: api.url, stop: async () => void (await Promise.all([api.stop(), worker.stop()])) };
};

const users = Array.from({ length: 12 }, (_, i) => `user-${i}`);

/** What a worker does once a minute. */
async function settle(number: number): Promise<void> {
  const { redis, config } = environment;
  for (const prefix of shardPrefixes(config.redis.prefix, number))
    await reconcileQuota(
      redis,
      prefix,
      async (ids) => new Set(ids),
      async () => {},
      -1_000,
    );
}

async function untilEmpty(number: number): Promise<void> {
  await eventually(async () => {
    await settle(number);
    const counts = shardPrefixes(environment.config.redis.prefix, number).map((prefix) =>
      environment.redis.exists(`{${prefix}}:capture:active`, `{${prefix}}:capture:wait`),
    );
    return (await Promise.all(counts)).every((count) => count === 0);
  });
}

test('several shards on one Redis, and their number changed: counts stay exact, and nothing is lost', async () => {
  const endpoints = new Map<string, string>();
  const captureTwice = async (url: string): Promise<void> => {
    for (const user of users) {
      const id = endpoints.get(user) ?? (await client(url, mintToken(user, { plan: 'small' })).create()).body.id;
      endpoints.set(user, id);
      for (let i = 0; i < 2; i += 1) await captureOne(url, id);
    }
  };
  const two = await start(2);
  await captureTwice(two.url);
  await untilEmpty(2);
  await two.stop();
  expect(new Set(users.map((user) => shardOf(user, 2))).size).toBe(2);
  expect(await change()).toBe('2');
  expect(await change('3')).toBe('3, before 2: start workers and APIs with CAPTURE_QUEUE_SHARDS=3');

  const three = await start(3);
  await captureTwice(three.url);
  await untilEmpty(3);
  await three.stop();
  // Back again: the counts that these shards had are not those of today any more.
  expect(await change('2')).toMatch(/^2, before 3/);
  const back = await start(2);
  for (const user of users) {
    const statuses = [];
    const url = `${back.url}/h/${endpoints.get(user)}`;
    for (let i = 0; i < 3; i += 1) statuses.push((await send(url, { method: 'POST' })).status);
    expect([user, ...statuses]).toEqual([user, 200, 429, 429]);
    const { usage, endpoints: records } = (await client(back.url, mintToken(user, { plan: 'small' })).endpoints()).body;
    expect([usage.dailyRequests, records[0]?.request_count]).toEqual([CAP, CAP]);
  }
  await untilEmpty(2);
  await back.stop();
});

test('while jobs or reservations are left nothing is changed, and an API of another number enqueues nothing', async () => {
  const { redis, config } = environment;
  const { prefix } = config.redis;
  expect(await recordedShards(redis, prefix)).toBe(2);
  const api = await environment.startApi({ CAPTURE_QUEUE_SHARDS: '2' });
  const { id } = (await client(api.url, mintToken('zoe')).create()).body;
  await captureOne(api.url, id);
  await expect(change('4')).rejects.toThrow(/^1 jobs are left in the capture queues; nothing was changed/);
  // It goes on.
  await captureOne(api.url, id);
  const worker = await environment.startWorker({ CAPTURE_QUEUE_SHARDS: '2' });
  await untilEmpty(2);
  await worker.stop();
  expect(await change('4')).toMatch(/^4, before 2/);
  expect((await send(`${api.url}/h/${id}`, { method: 'POST' })).status).toBe(503);
  await api.stop();
  for (const layout of [2, 4])
    for (const shard of shardPrefixes(prefix, layout)) expect(await redis.keys(`{${shard}}:capture:wait`)).toEqual([]);
});

test.each(['api', 'worker'] as const)(
  '%s with another number does not get ready, and says what to do',
  async (role) => {
    const { redis, env, config } = environment;
    await recordShards([{ prefix: config.redis.prefix, redis }], 4);
    const started = closing(
      await startRole(role, { ...env, CAPTURE_QUEUE_SHARDS: '2' }, { untilReady: false }),
      async (open) => {
        await open.end();
      },
    );
    const reasons = async (): Promise<unknown> =>
      ((await (await fetch(`http://127.0.0.1:${started.internalPort}/readyz`)).json()) as { reasons: string[] })
        .reasons;
    await eventually(async () => JSON.stringify(await reasons()).includes('SHARDS'));
    expect(await reasons()).toEqual([
      'CAPTURE_QUEUE_SHARDS is 2 here and 4 in Redis: set it to that, or stop all processes and run "shards 2"',
    ]);
  },
);

test('the role prints the number', async () => {
  const { env } = environment;
  const { stdout } = await promisify(execFile)(process.execPath, ['src/main.ts', 'shards'], {
    env: { ...process.env, ...env },
  });
  expect(stdout).toBe('4\n');
});

test.each([['0'], ['65'], ['two'], ['2', '3']])('refuses %j', async (...args) => {
  await expect(change(...args)).rejects.toThrow('usage: shards [<number from 1 to 64>]');
});
