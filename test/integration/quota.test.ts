import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstIdAt, idToBytes, newEndpointId, newTimeOrderedId } from '../../src/domain/ids.ts';
import { utcDay } from '../../src/domain/time.ts';
import { enqueueInTransaction } from '../../src/queue/capture-queue.ts';
import { withScripts } from '../../src/redis/quota-scripts.ts';
import { createQuota, isReserved, reconcileQuota, type Quota } from '../../src/redis/quota.ts';
import { userKey } from '../../src/store/users.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, send } from '../support/client.ts';
import { openEnvironment, useEnvironment, type Environment } from '../support/environment.ts';

const PLANS = '{"tiny":{"dailyRequests":5,"maxRequestSize":100},"other":{"dailyRequests":7}}';

let environment: Environment;
let url: string;
let users = 0;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi({ PLANS }));
});

const newUser = (): string => `user-${(users += 1)}`;

describe('the daily cap', () => {
  test('is per user over all endpoints: 429 with the limits and Retry-After, nothing stored, nothing counted [429]', async () => {
    const owner = client(url, mintToken(newUser(), { plan: 'tiny' }));
    const endpoints = [(await owner.create()).body.id, (await owner.create()).body.id];
    for (let n = 0; n < 5; n += 1) await captureOne(url, endpoints[n % 2] as string);
    const midnight = `${utcDay(Date.now() + 86_400_000)}T00:00:00.000Z`;
    const refused = await send<{ resetAt: string }>(`${url}/h/${endpoints[0]}`, { method: 'POST' });
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      error: expect.any(String),
      dailyRequests: 5,
      dailyRequestsMax: 5,
      resetAt: midnight,
    });
    const retryAfter = Number(refused.headers['retry-after']);
    expect(Math.abs(retryAfter * 1000 - (Date.parse(midnight) - Date.now()))).toBeLessThan(10_000);
    const { usage, endpoints: records } = (await owner.endpoints()).body;
    expect(usage).toEqual({ dailyRequests: 5, dailyRequestsMax: 5 });
    expect(records.reduce((sum, { request_count: count }) => sum + count, 0)).toBe(5);
    // Another user has a cap of their own.
    const stranger = client(url, mintToken(newUser(), { plan: 'tiny' }));
    await captureOne(url, (await stranger.create()).body.id);
  });

  test('413, 404, 410 and aborted uploads do not count, and deleted entries stay counted', async () => {
    const owner = client(url, mintToken(newUser(), { plan: 'tiny' }));
    const { id } = (await owner.create()).body;
    const { id: expired } = (await owner.create()).body;
    await environment.db
      .knex('endpoints')
      .where({ id: idToBytes(expired) })
      .update({ expires_at: new Date(0) });
    await environment.redis.del(`${environment.config.redis.prefix}:endpoint:${expired}`);
    for (let n = 0; n < 10; n += 1) {
      expect((await send(`${url}/h/${id}`, { method: 'POST', body: 'x'.repeat(101) })).status).toBe(413);
      expect((await send(`${url}/h/${expired}`, { method: 'POST' })).status).toBe(410);
      expect((await send(`${url}/h/unknown-${n}`, { method: 'POST' })).status).toBe(404);
      await new Promise<void>((resolve) => {
        const upload = connect(Number(new URL(url).port), '127.0.0.1');
        upload.on('close', () => resolve());
        upload.write(`POST /h/${id} HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhalf`, () => upload.destroy());
      });
    }
    const receipts = [];
    for (let n = 0; n < 5; n += 1) receipts.push(await captureOne(url, id));
    expect((await owner.removeMany(receipts.map((receipt) => receipt.id))).body.deleted).toBe(5);
    expect((await send(`${url}/h/${id}`, { method: 'POST' })).status).toBe(429);
    expect((await owner.endpoints()).body.usage.dailyRequests).toBe(5);
  });

  test("holds when Redis restarts empty: the count continues from the database's", async () => {
    const own = await openEnvironment();
    try {
      await own.startWorker();
      const api = await own.startApi({ PLANS });
      const owner = client(api.url, mintToken('ann', { plan: 'tiny' }));
      const { id } = (await owner.create()).body;
      for (let n = 0; n < 3; n += 1) await captureOne(api.url, id);
      await own.drained();
      const keys = await own.redis.keys(`*${own.config.redis.prefix}*`);
      expect(keys).toContain(`{${own.config.redis.prefix}}:quota:user:ann`);
      await own.redis.del(...keys);
      const statuses = [];
      for (let n = 0; n < 4; n += 1) statuses.push((await send(`${api.url}/h/${id}`, { method: 'POST' })).status);
      expect(statuses).toEqual([200, 200, 429, 429]);
      expect((await owner.endpoints()).body.usage).toEqual({ dailyRequests: 5, dailyRequestsMax: 5 });
    } finally {
      await own.close();
    }
  });

  test('a plan change applies to captures on every pod within a second', async () => {
    const other = await environment.startApi({ PLANS });
    const user = newUser();
    const { id } = (await client(url, mintToken(user, { plan: 'tiny' })).create()).body;
    for (let n = 0; n < 5; n += 1) await captureOne(other.url, id);
    expect((await send(`${other.url}/h/${id}`, { method: 'POST' })).status).toBe(429);
    await client(url, mintToken(user, { plan: 'other' })).endpoints();
    await expect
      .poll(async () => (await send(`${other.url}/h/${id}`, { method: 'POST' })).status, { timeout: 1_000 })
      .toBe(200);
  });
});

describe('reservations', () => {
  const prefix = (): string => `${environment.config.redis.prefix}-${newTimeOrderedId()}`;
  const quotaOf = (name: string, used = 0): Quota => createQuota(environment.redis, name, async () => used);
  const countOf = async (name: string, user: string): Promise<number> => {
    const counts = Object.values(await environment.redis.hgetall(`{${name}}:quota:user:${user}`));
    return counts.reduce((sum, count) => sum + Number(count), 0);
  };

  test('grant what is left, per user, and return the day of the Redis clock', async () => {
    const quota = quotaOf(prefix());
    const first = await quota.reserve('b1', [
      { userId: 'ann', count: 3, cap: 5 },
      { userId: 'bob', count: 3, cap: null },
    ]);
    expect(first.grants).toEqual(
      new Map([
        ['ann', { granted: 3, used: 3 }],
        ['bob', { granted: 3, used: 3 }],
      ]),
    );
    expect(first.day).toBe(utcDay(first.now));
    const second = await quota.reserve('b2', [{ userId: 'ann', count: 3, cap: 5 }]);
    expect(second.grants.get('ann')).toEqual({ granted: 2, used: 5 });
    expect((await quota.reserve('b3', [{ userId: 'ann', count: 3, cap: 5 }])).grants.get('ann')).toEqual({
      granted: 0,
      used: 5,
    });
    // A plan with a lower cap removes nothing, and grants nothing.
    expect((await quota.reserve('b4', [{ userId: 'ann', count: 1, cap: 2 }])).grants.get('ann')).toEqual({
      granted: 0,
      used: 5,
    });
  });

  test('are exact when many pods race', async () => {
    const name = prefix();
    const quotas = Array.from({ length: 8 }, () => quotaOf(name));
    const grants = await Promise.all(
      Array.from({ length: 400 }, (_, i) =>
        (quotas[i % 8] as Quota).reserve(`b${i}`, [{ userId: 'ann', count: 7, cap: 1_000 }]),
      ),
    );
    expect(grants.reduce((sum, reservation) => sum + (reservation.grants.get('ann')?.granted ?? 0), 0)).toBe(1_000);
    expect(await countOf(name, 'ann')).toBe(1_000);
  });

  test('a Redis that started empty reads the count of the day from the database, once', async () => {
    const name = prefix();
    const quota = quotaOf(name, 90);
    expect((await quota.reserve('b1', [{ userId: 'ann', count: 20, cap: 100 }])).grants.get('ann')).toEqual({
      granted: 10,
      used: 100,
    });
    await Promise.all([quotaOf(name, 90).prepare('ann'), quotaOf(name, 90).prepare('ann')]);
    expect(await countOf(name, 'ann')).toBe(100);
    const broken = createQuota(environment.redis, prefix(), () => Promise.reject(new Error('database unreachable')));
    await expect(broken.reserve('b1', [{ userId: 'ann', count: 1, cap: 1 }])).rejects.toThrow('database unreachable');
  });

  test('a new day starts at 0 without the database', async () => {
    const name = prefix();
    await environment.redis.set(`{${name}}:quota:since`, Date.now() - 3 * 86_400_000);
    const quota = createQuota(environment.redis, name, () => Promise.reject(new Error('must not be queried')));
    expect((await quota.reserve('b1', [{ userId: 'ann', count: 1, cap: 1 }])).grants.get('ann')).toEqual({
      granted: 1,
      used: 1,
    });
  });

  const daysOf = async (name: string, user: string): Promise<number[]> =>
    (await environment.redis.hkeys(`{${name}}:quota:user:${user}`)).map(Number).toSorted((a, b) => a - b);

  test.each([
    ['the first capture of a day', (quota: Quota) => quota.reserve('b1', [{ userId: 'ann', count: 1, cap: 1 }])],
    ['a day without captures', (quota: Quota) => quota.prepare('ann')],
  ])('of past days are dropped on %s', async (_when, use) => {
    const name = prefix();
    await environment.redis.set(`{${name}}:quota:since`, 0);
    const today = Math.floor(Date.now() / 86_400_000);
    const past = Array.from({ length: 400 }, (_, i) => today - 400 + i);
    await environment.redis.hset(`{${name}}:quota:user:ann`, Object.fromEntries(past.map((day) => [day, 1])));
    await use(quotaOf(name));
    const days = await daysOf(name, 'ann');
    // Refunds are possible for two days.
    const last = days.at(-1) ?? 0;
    expect(last).toBeGreaterThanOrEqual(today);
    expect(days).toEqual([...past, last].filter((day) => day >= last - 2));
  });

  test('that are refunded after their day was dropped leave nothing behind', async () => {
    const name = prefix();
    const quota = quotaOf(name);
    await quota.reserve('late', [{ userId: 'ann', count: 4, cap: 100 }]);
    await environment.redis.del(`{${name}}:quota:user:ann`);
    await quota.refund('late');
    expect(await environment.redis.exists(`{${name}}:quota:user:ann`)).toBe(0);
  });

  test('are refunded once, by a refund or by the reconciler where the batch is neither queued nor stored', async () => {
    const name = prefix();
    const quota = quotaOf(name);
    for (const batch of ['refunded', 'queued', 'lost', 'settled'])
      await quota.reserve(batch, [
        { userId: 'ann', count: 4, cap: 100 },
        { userId: 'bob', count: 1, cap: 1 },
      ]);
    expect(await countOf(name, 'ann')).toBe(16);
    await quota.refund('refunded');
    await quota.refund('refunded');
    expect([await countOf(name, 'ann'), await countOf(name, 'bob')]).toEqual([12, 0]);
    quota.settle('settled');
    await quota.reserve('next', [{ userId: 'carol', count: 1, cap: 1 }]);

    const checked: string[] = [];
    const isKept = async (batchIds: string[]): Promise<Set<string>> => {
      checked.push(...batchIds);
      return new Set(['queued', 'next']);
    };
    expect(await reconcileQuota(environment.redis, name, isKept, async () => {})).toBe(0);
    expect(checked).toEqual([]);
    expect(await reconcileQuota(environment.redis, name, isKept, async () => {}, -1_000)).toBe(4);
    expect(checked.toSorted()).toEqual(['lost', 'next', 'queued']);
    expect(await countOf(name, 'ann')).toBe(8);
    expect(await reconcileQuota(environment.redis, name, isKept, async () => {}, -1_000)).toBe(0);
    expect(await environment.redis.exists(`{${name}}:quota:pending`)).toBe(0);
  });
});

test('the count in Redis, the usage in the list, daily_usage and the rows are equal', async () => {
  const user = newUser();
  const owner = client(url, mintToken(user, { plan: 'other' }));
  const { id } = (await owner.create()).body;
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async () => (await send(`${url}/h/${id}`, { method: 'POST' })).status),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(7);
  expect(statuses.filter((status) => status === 429)).toHaveLength(33);
  expect((await owner.endpoints()).body.usage).toEqual({ dailyRequests: 7, dailyRequestsMax: 7 });
  const [usage] = await environment.db.knex('daily_usage').where({ user_id: userKey(user) });
  expect(usage.accepted).toBe(7);
  expect(
    await environment.db
      .knex('requests')
      .where({ endpoint_id: idToBytes(id) })
      .andWhere('id', '>', idToBytes(firstIdAt(0))),
  ).toHaveLength(7);
});

describe('a batch and its reservation in one transaction', () => {
  let open: Environment;
  beforeAll(async () => {
    open = await openEnvironment();
    withScripts(open.redis);
  });
  afterAll(() => open.close());

  async function enqueue(user: string, cap: number | null, day = utcDay(Date.now())) {
    const { redis, queue, config } = open;
    const quota = createQuota(redis, config.redis.prefix, () => Promise.reject(new Error('must not be queried')));
    const batch = { id: newTimeOrderedId(), day, captures: [makeCapture(newEndpointId(), { userId: user })] };
    const requests = [{ userId: user, count: batch.captures.length, cap }];
    const job = { ...batch, key: queue.toKey(batch.id) };
    const reply = await enqueueInTransaction(queue, redis, batch, (transaction) =>
      quota.reserveAll(transaction, job, requests),
    );
    return { id: batch.id, reserved: isReserved(reply) };
  }
  const countKey = (user: string): string => `{${open.config.redis.prefix}}:quota:user:${user}`;
  const stateOf = async (user: string) => ({
    jobs: await open.queue.getJobCountByTypes('wait'),
    counted: Object.values(await open.redis.hgetall(countKey(user))),
    noted: await open.redis.hlen(`{${open.config.redis.prefix}}:quota:pending`),
  });
  const seed = async (user: string, used: number): Promise<void> =>
    void (await open.redis.hset(countKey(user), Math.floor(Date.now() / 86_400_000), used));

  test('is counted and enqueued, or neither: over the cap, of another day, or with an unknown count', async () => {
    await seed('within', 1);
    expect(await enqueue('within', 2)).toMatchObject({ reserved: true });
    const after = { jobs: 1, counted: ['2'], noted: 1 };
    expect(await stateOf('within')).toEqual(after);

    const { id, reserved } = await enqueue('within', 2);
    expect(reserved).toBe(false);
    expect(await stateOf('within')).toEqual(after);
    expect(await open.queue.getJobState(id)).toBe('unknown');
    // The key that kept the job from being added does not stay.
    expect(await open.redis.ttl(open.queue.toKey(id))).toBeGreaterThan(0);

    expect(await enqueue('within', null, utcDay(Date.now() - 86_400_000))).toMatchObject({ reserved: false });
    expect(await enqueue('unknown', 5)).toMatchObject({ reserved: false });
    expect(await stateOf('within')).toEqual(after);
    expect(await stateOf('unknown')).toMatchObject({ counted: [] });
  });

  test('is not enqueued where the count cannot be written', async () => {
    const before = await stateOf('none');
    await open.redis.set(countKey('broken'), 'not a hash');
    await expect(enqueue('broken', null)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('WRONGTYPE') },
    });
    await open.redis.del(countKey('broken'));
    expect(await stateOf('none')).toEqual(before);
  });

  test('captures go on after the scripts were removed from Redis, all of them or only the count', async () => {
    const owner = client(url, mintToken(newUser(), { plan: 'enterprise' }));
    const { id } = (await owner.create()).body;
    await captureOne(url, id);
    await environment.redis.script('FLUSH');
    await captureOne(url, id);
    await environment.redis.script('FLUSH');
    // Loads the job's script, and leaves the other one out.
    await environment.queue.add(
      'batch',
      { v: 1, day: utcDay(Date.now()), captures: [] },
      { jobId: newTimeOrderedId() },
    );
    expect((await send(`${url}/h/${id}`, { method: 'POST' })).status).toBe(503);
    await expect.poll(async () => (await send(`${url}/h/${id}`, { method: 'POST' })).status).toBe(200);
  });
});
