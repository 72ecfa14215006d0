import { describe, expect, test } from 'vitest';
import type { CustomResponse } from '../../src/domain/custom-response.ts';
import { newEndpointId } from '../../src/domain/ids.ts';
import { createLog } from '../../src/log.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { createEndpointCache, type EndpointCache } from '../../src/redis/endpoint-cache.ts';
import type { EndpointRecord } from '../../src/redis/endpoint-records.ts';
import type { CaptureTarget } from '../../src/store/capture-targets.ts';
import { client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';

/* The database decides on a response, and Redis and the processes have copies: what may come between. */

let environment: Environment;
useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
});

const responseOf = (status: number): CustomResponse => ({
  status,
  headers: { 'X-A': 'ä' },
  body: Buffer.from([0xff, status & 0xff]),
  bodyEncoding: 'base64',
  delayMs: 0,
});

/** One endpoint with the response that the database has. */
interface Row extends CaptureTarget {
  /** As a transaction commits a change. */
  commit(status: number): void;
  read(): CaptureTarget;
}

function newRow(): Row {
  return {
    id: newEndpointId(),
    userId: 'ann',
    plan: 'pro',
    expiresAt: null,
    response: null,
    responseVersion: 0,
    commit(status) {
      this.response = responseOf(status);
      this.responseVersion += 1;
    },
    read() {
      return { ...this };
    },
  };
}

type FindInDatabase = (key: string) => Promise<CaptureTarget | undefined>;
const unreachable: FindInDatabase = () => Promise.reject(new Error('database unreachable'));

/** A process's cache over the shared Redis; without announcements, so that each look-up asks Redis. */
async function openPod(findInDatabase: FindInDatabase): Promise<EndpointCache> {
  const { redis: config } = environment.config;
  const log = createLog('silent');
  const redis = closing(openRedis(config, 'cache', log), closeRedis);
  const subscriber = closing(openRedis({ ...config, port: 1 }, 'subscriber', log), closeRedis);
  const cache = createEndpointCache({ redis, subscriber, prefix: config.prefix, log, findInDatabase });
  closing(cache, (open) => open.stop());
  await eventually(async () => (await redis.ping()) === 'PONG');
  return cache;
}

const keyOf = ({ id }: Row): string => `${environment.config.redis.prefix}:endpoint:${id}`;
const record = async (row: Row): Promise<EndpointRecord> =>
  JSON.parse((await environment.redis.get(keyOf(row))) ?? '{}') as EndpointRecord;
const statusAt = async (pod: EndpointCache, { id }: Row): Promise<number | undefined> =>
  (await pod.find(id))?.response?.status;

describe('a change of a response', () => {
  test('is there at once, with the bytes and headers that were given, and the database is not asked', async () => {
    const row = newRow();
    const [pod, other] = [await openPod(async () => row.read()), await openPod(unreachable)];
    await pod.created(row, null);
    await pod.finishPlanChange('ann', await pod.beginPlanChange('ann'), 'pro');
    expect(await pod.beginResponseChange(row.read())).toBe(true);
    row.commit(201);
    await pod.finishResponseChange(row.read());
    for (const one of [pod, other]) expect((await one.find(row.id))?.response).toEqual(responseOf(201));
  });

  test('whose process dies after the commit is found in the database, then in Redis', async () => {
    const row = newRow();
    const [pod, cut] = [await openPod(async () => row.read()), await openPod(unreachable)];
    await pod.created(row, null);
    expect(await statusAt(pod, row)).toBeUndefined();
    await pod.beginResponseChange(row.read());
    row.commit(202);
    // The older one is better than none while the database is unreachable.
    expect(await cut.find(row.id)).toMatchObject({ response: null });
    expect(await statusAt(pod, row)).toBe(202);
    expect(await record(row)).not.toHaveProperty('change');
    expect(await statusAt(cut, row)).toBe(202);
  });

  test('whose process dies before the commit leaves the older one, and no mark after a minute', async () => {
    const row = newRow();
    const pod = await openPod(async () => row.read());
    row.commit(203);
    expect(await statusAt(pod, row)).toBe(203);
    await pod.beginResponseChange(row.read());
    expect(await statusAt(pod, row)).toBe(203);
    const marked = await record(row);
    expect(marked).toMatchObject({ responseVersion: 1, change: { version: 2, until: expect.any(Number) } });
    const late = { ...marked, change: { version: 2, until: Date.now() - 1 } };
    await environment.redis.set(keyOf(row), JSON.stringify(late));
    expect(await statusAt(pod, row)).toBe(203);
    expect(await record(row)).not.toHaveProperty('change');
  });

  test.each([true, false])(
    'wins over a look-up that read the row before the commit (record before: %s)',
    async (has) => {
      const row = newRow();
      const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<CaptureTarget>()];
      const pod = await openPod(async () => row.read());
      const slow = await openPod(() => {
        asked.resolve();
        return answer.promise;
      });
      row.commit(201);
      if (has) await statusAt(pod, row);
      const stale = row.read();
      if (has) await pod.beginResponseChange(row.read());
      const found = statusAt(slow, row);
      await asked.promise;
      if (!has) await pod.beginResponseChange(row.read());
      row.commit(202);
      await pod.finishResponseChange(row.read());
      answer.resolve(stale);
      expect(await found).toBe(202);
      expect(await record(row)).toMatchObject({ responseVersion: 2, response: { status: 202 } });
    },
  );

  test('of two, the later one stays, in whatever order they are published', async () => {
    const row = newRow();
    const [one, two] = [await openPod(async () => row.read()), await openPod(async () => row.read())];
    await one.beginResponseChange(row.read());
    row.commit(201);
    const first = row.read();
    await two.beginResponseChange(row.read());
    await one.finishResponseChange(first);
    // The second is not committed yet, and may be at any moment.
    expect(await record(row)).toMatchObject({ responseVersion: 1, change: { version: 2 } });
    row.commit(202);
    await two.finishResponseChange(row.read());
    await one.finishResponseChange(first);
    for (const pod of [one, two]) expect(await statusAt(pod, row)).toBe(202);
    expect(await record(row)).not.toHaveProperty('change');
  });

  test('does not bring back an endpoint that is deleted', async () => {
    const row = newRow();
    const pod = await openPod(async () => row.read());
    await pod.created(row, null);
    await pod.withCapturesStopped(row, async () => true);
    expect(await pod.beginResponseChange(row.read())).toBe(true);
    row.commit(201);
    await pod.finishResponseChange(row.read());
    expect(await pod.find(row.id)).toBeUndefined();
  });

  test('is not lost by a delete that fails, with or without the database', async () => {
    const row = newRow();
    const [pod, cut] = [await openPod(async () => row.read()), await openPod(unreachable)];
    row.commit(201);
    expect(await statusAt(pod, row)).toBe(201);
    const failing = (): Promise<never> => Promise.reject(new Error('database unreachable'));
    await expect(pod.withCapturesStopped(row, failing)).rejects.toThrow('database unreachable');
    expect(await statusAt(cut, row)).toBe(201);
    row.commit(202);
    expect(await statusAt(pod, row)).toBe(202);
  });
});

test('a record of the previous version is completed once, keeps its end, and captures without the database', async () => {
  const row = newRow();
  let questions = 0;
  const pod = await openPod(async () => {
    questions += 1;
    return row.read();
  });
  row.commit(201);
  const { id, userId, expiresAt } = row;
  await environment.redis.set(keyOf(row), JSON.stringify({ id, userId, expiresAt }), 'PX', 1_000_000);
  const cut = await openPod(unreachable);
  expect(await cut.find(id)).toMatchObject({ id, response: null });
  for (let n = 0; n < 3; n += 1) expect(await statusAt(pod, row)).toBe(201);
  expect(questions).toBe(1);
  const left = await environment.redis.pttl(keyOf(row));
  expect(left).toBeGreaterThan(900_000);
  expect(left).toBeLessThanOrEqual(1_000_000);
});

describe('two processes', () => {
  const put = (user: Client, id: string, status: number) =>
    user.call('PUT', `/api/endpoints/${id}/response`, { status, headers: { 'X-Status': `${status}` } });

  test('agree soon after a change, after many at once, and after the last is undone', async () => {
    const apis = [await environment.startApi(), await environment.startApi()];
    const users = apis.map(({ url }) => client(url, mintToken('bob')));
    const [here, there] = users as [Client, Client];
    const { id } = (await here.create()).body;
    const seen = (): Promise<number[]> =>
      Promise.all(apis.map(async ({ url }) => (await send(`${url}/h/${id}`)).status));
    await seen();
    for (const status of [201, 202, 203]) {
      expect((await put(status % 2 === 0 ? here : there, id, status)).status).toBe(200);
      // Far less than the time for which a process would keep its copy without an announcement.
      await eventually(async () => (await seen()).every((one) => one === status), 3_000);
    }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_none, n) => put(n % 2 === 0 ? here : there, id, 400 + n)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const { status } = (await here.call<{ status: number }>('GET', `/api/endpoints/${id}/response`)).body;
    await eventually(async () => (await seen()).every((one) => one === status), 3_000);
    const stored = await environment.redis.get(`${environment.config.redis.prefix}:endpoint:${id}`);
    expect(JSON.parse(stored ?? '{}')).toMatchObject({ responseVersion: 23, response: { status } });
    expect(stored).not.toContain('"change"');
    expect((await there.call('DELETE', `/api/endpoints/${id}/response`)).status).toBe(200);
    await eventually(async () => (await seen()).every((one) => one === 200), 3_000);
    await Promise.all(apis.map((api) => api.stop()));
  });

  test('answer as their owner set it while MySQL is unreachable, also one that starts then; changes get 503', async () => {
    const proxy = closing(await startProxy(environment.config.mysql.port), (open) => open.close());
    const behind = { MYSQL_PORT: String(proxy.port) };
    const api = await environment.startApi(behind);
    const user = client(api.url, mintToken('carol'));
    const { id } = (await user.create()).body;
    expect((await put(user, id, 207)).status).toBe(200);
    proxy.refuseNew();
    proxy.breakExisting();
    const late = await environment.startApi(behind);
    for (const { url } of [api, late])
      expect(await send(`${url}/h/${id}`)).toMatchObject({ status: 207, headers: { 'x-status': '207' } });
    expect((await put(user, id, 208)).status).toBe(503);
    expect((await send(`${late.url}/h/${id}`)).status).toBe(207);
    proxy.takeNew();
    await eventually(async () => (await put(user, id, 208)).status === 200);
    await eventually(async () => (await send(`${late.url}/h/${id}`)).status === 208);
    expect((await user.list(id)).body.total).toBeGreaterThan(3);
    await Promise.all([api.stop(), late.stop()]);
  });

  test('change nothing while Redis does not answer', async () => {
    const proxy = closing(await startProxy(environment.config.redis.port), (open) => open.close());
    const [api, other] = [await environment.startApi({ REDIS_PORT: String(proxy.port) }), await environment.startApi()];
    const [user, elsewhere] = [api, other].map(({ url }) => client(url, mintToken('dan'))) as [Client, Client];
    const { id } = (await user.create()).body;
    expect((await put(user, id, 201)).status).toBe(200);
    proxy.refuseNew();
    proxy.breakExisting();
    await eventually(async () => (await put(user, id, 202)).status === 503);
    expect((await elsewhere.call('GET', `/api/endpoints/${id}/response`)).body).toMatchObject({ status: 201 });
    expect((await send(`${other.url}/h/${id}`)).status).toBe(201);
    proxy.takeNew();
    await eventually(async () => (await put(user, id, 203)).status === 200);
    await Promise.all([api.stop(), other.stop()]);
  });
});
