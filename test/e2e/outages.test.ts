import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bytesToId, idToBytes, newTimeOrderedId } from '../../src/domain/ids.ts';
import { createLog } from '../../src/log.ts';
import { enqueueLargeCapture } from '../../src/queue/capture-queue.ts';
import { removeLargeBody } from '../../src/queue/large-bodies.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { reconcileQuota } from '../../src/redis/quota.ts';
import { findStoredBatches } from '../../src/store/capture-batches.ts';
import { expectBalanced, startLoad } from '../support/accounting.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';
import { startPrivateServers, type PrivateServers } from '../support/private-servers.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

/** Longer than any answer may take: the promised time, with room for a busy machine. */
const ANSWER_BOUND_MS = 2_500;
const NOISE_MS = 1_500;

// Private servers, because this file stops them.
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-outages-'));
let servers: PrivateServers;
let environment: Environment;
let api: RoleProcess;
let worker: RoleProcess;
let owner: Client;
let endpointId: string;

const startWorker = (): Promise<RoleProcess> => startRole('worker', { ...environment.env, JOB_LOCK_MS: '2000' });

beforeAll(async () => {
  servers = await startPrivateServers(dataDir);
  environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
  [api, worker] = await Promise.all([startRole('api', environment.env), startWorker()]);
});
afterAll(async () => {
  await Promise.all([api.end(), worker.end()]);
  await environment.close();
  await servers.stop();
  rmSync(dataDir, { recursive: true, force: true });
});
let users = 0;
beforeEach(async () => {
  // The previous test's outage of the servers is over.
  await eventually(async () => (await send(`${api.url}/h/none`, { method: 'POST' })).status === 404);
  users += 1;
  owner = client(api.url, mintToken(`user-${users}`, { plan: 'enterprise' }));
  endpointId = (await owner.create()).body.id;
});

test('MySQL unreachable for ten seconds under load: no refusal, all captures stored afterwards', async () => {
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 8, pauseMs: 10 });
  await eventually(() => load.outcomes.length > 100);
  await servers.mysql.stop();
  const before = load.outcomes.length;
  const stoppedAt = performance.now();
  // The test is about ten seconds of outage; the pause waits for no condition.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  expect(load.outcomes.length - before).toBeGreaterThan(100);
  // Management routes need the database, and report that in time.
  const list = await owner.list(endpointId);
  expect([list.status, list.headers['retry-after']]).toEqual([503, '2']);
  await servers.restartMysql();
  expect(performance.now() - stoppedAt).toBeGreaterThan(10_000);
  await load.stop();
  await environment.drained();
  expect(load.outcomes.filter(({ kind }) => kind !== 'receipt')).toEqual([]);
  // The jobs waited for the end of the outage, without using an attempt.
  expect(worker.log.filter(({ msg }) => msg === 'Job failed')).toEqual([]);
  const { rows } = await expectBalanced(environment.db, endpointId, load.outcomes);
  expect(rows).toBe(load.outcomes.length);
  expect(await environment.queue.getFailedCount()).toBe(0);
});

describe('Redis', () => {
  test('stopped: every answer is a 503 in time, none a false 200, and it recovers automatically [503]', async () => {
    const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 8, pauseMs: 5 });
    await eventually(() => load.outcomes.length > 100);
    await servers.redis.stop();
    const before = load.outcomes.length;
    await eventually(() => load.outcomes.length > before + 200);
    const during = load.outcomes.slice(before + 8);
    expect(during.filter(({ status }) => status !== 503)).toEqual([]);
    const refused = await send(`${api.url}/h/${endpointId}`, { method: 'POST' });
    expect([refused.status, refused.headers['retry-after'], refused.body]).toEqual([
      503,
      '2',
      { error: expect.any(String) },
    ]);
    // Reads still work, and report that captures may be missing.
    const list = await owner.list(endpointId);
    expect([list.status, list.headers['x-captures-pending']]).toEqual([200, 'unknown']);
    await servers.restartRedis();
    const restarted = load.outcomes.length;
    await eventually(() => load.outcomes.slice(restarted).some(({ kind }) => kind === 'receipt'));
    await load.stop();
    await environment.drained();
    const slow = load.outcomes.filter(({ ms }) => ms > ANSWER_BOUND_MS + NOISE_MS);
    expect(slow).toEqual([]);
    await expectBalanced(environment.db, endpointId, load.outcomes);
  });

  test('killed and restarted: captures with a receipt are stored', async () => {
    const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 8 });
    for (let round = 0; round < 5; round += 1) {
      const before = load.outcomes.filter(({ kind }) => kind === 'receipt').length;
      await eventually(() => load.outcomes.filter(({ kind }) => kind === 'receipt').length > before + 200);
      servers.redis.process.kill('SIGKILL');
      await eventually(() => servers.redis.process.signalCode !== null);
      await servers.restartRedis();
    }
    await load.stop();
    await environment.drained();
    await expectBalanced(environment.db, endpointId, load.outcomes);
  });

  test('frozen: 503 in time, and no 200 until it continues', async () => {
    await eventually(async () => (await send(`${api.url}/h/${endpointId}`, { method: 'POST' })).status === 200);
    servers.redis.process.kill('SIGSTOP');
    closing(servers.redis.process, (redis) => void redis.kill('SIGCONT'));
    const start = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send(`${api.url}/h/${endpointId}`, { method: 'POST', body: 'x' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
    expect(performance.now() - start).toBeLessThan(ANSWER_BOUND_MS + NOISE_MS);
    servers.redis.process.kill('SIGCONT');
    await eventually(async () => (await send(`${api.url}/h/${endpointId}`, { method: 'POST' })).status === 200);
  });
});

describe('connections whose peer vanishes silently', () => {
  test('to Redis: captures are refused in time, and accepted again soon', async () => {
    const proxy = closing(await startProxy(servers.redis.config.port), (open) => open.close());
    const behind = closing(
      await startRole('api', { ...environment.env, REDIS_PORT: String(proxy.port) }),
      async (api) => void (await api.end()),
    );
    await captureOne(behind.url, endpointId);
    proxy.silenceExisting();
    const start = performance.now();
    const first = await send(`${behind.url}/h/${endpointId}`, { method: 'POST' });
    expect(first.status).toBe(503);
    expect(performance.now() - start).toBeLessThan(ANSWER_BOUND_MS + NOISE_MS);
    await eventually(async () => (await send(`${behind.url}/h/${endpointId}`, { method: 'POST' })).status === 200);
  });

  test('to MySQL: the worker aborts the transaction and stores its captures in another one', async () => {
    await worker.end();
    const proxy = closing(await startProxy(servers.mysql.config.port), (open) => open.close());
    worker = await startRole('worker', { ...environment.env, JOB_LOCK_MS: '2000', MYSQL_PORT: String(proxy.port) });
    await captureOne(api.url, endpointId);
    await environment.drained();
    proxy.silenceExisting();
    const { id } = await captureOne(api.url, endpointId);
    await eventually(async () => (await environment.db.knex('requests').where({ id: idToBytes(id) })).length === 1);
    expect((await owner.endpoint(endpointId)).body.request_count).toBe(2);
    await worker.end();
    worker = await startWorker();
  });
});

test("the peer of an API's connections to MySQL vanishes silently: it answers again automatically", async () => {
  const proxy = closing(await startProxy(servers.mysql.config.port), (open) => open.close());
  const behind = closing(
    await startRole('api', { ...environment.env, MYSQL_PORT: String(proxy.port), MYSQL_POOL_SIZE: '2' }),
    async (api) => void (await api.end()),
  );
  const ask = (): Promise<number> =>
    client(behind.url, mintToken('ann'))
      .endpoints()
      .then(({ status }) => status);
  expect(await Promise.all(Array.from({ length: 6 }, ask))).toEqual(Array.from({ length: 6 }, () => 200));
  proxy.silenceExisting();
  // More requests than the pool has connections.
  expect(await Promise.all(Array.from({ length: 6 }, ask))).toEqual(Array.from({ length: 6 }, () => 503));
  await eventually(async () => (await ask()) === 200);
});

test('after a delete that fails because MySQL is unreachable the endpoint still captures', async () => {
  await captureOne(api.url, endpointId);
  await environment.drained();
  // The database fails during the delete: after the look-up, while its row is locked.
  const lock = await environment.db.pool.getConnection();
  await lock.query('START TRANSACTION');
  await lock.query('SELECT id FROM endpoints WHERE id = ? FOR UPDATE', [idToBytes(endpointId)]);
  const removal = owner.removeEndpoint(endpointId);
  let taken = 1;
  const capture = async (): Promise<number> => {
    const { status } = await send(`${api.url}/h/${endpointId}`, { method: 'POST' });
    if (status === 200) taken += 1;
    return status;
  };
  await eventually(async () => (await capture()) === 404);
  servers.mysql.process.kill('SIGKILL');
  lock.destroy();
  expect((await removal).status).toBe(503);
  await eventually(async () => (await capture()) === 200, 5_000);
  await servers.restartMysql();
  await environment.drained();
  expect((await owner.endpoint(endpointId)).body.request_count).toBe(taken);
});

test('large captures are accepted, stored once, and do not delay small ones', async () => {
  // Of bytes that JSON would write as six bytes each.
  const large = Buffer.alloc(5 * 1024 * 1024);
  const [first, second] = await Promise.all([
    captureOne(api.url, endpointId, { body: large }),
    captureOne(api.url, endpointId, { body: large }),
  ]);
  const small = await captureOne(api.url, endpointId, { body: 'small' });
  await environment.drained();
  for (const { id } of [first, second]) expect((await owner.body(id)).bytes.equals(large)).toBe(true);
  expect((await owner.entry(small.id)).body.body).toBe('small');
  expect((await owner.list(endpointId)).body.total).toBe(3);
});

test('a worker killed between commit and completion: its job runs again and changes nothing', async () => {
  const admin = closing(openRedis(servers.redis.config, 'worker', createLog('silent')), closeRedis);
  const lock = await environment.db.pool.getConnection();
  await lock.query('START TRANSACTION');
  // The worker gets the job and waits here for the endpoint's row …
  await lock.query('SELECT id FROM endpoints WHERE id = ? FOR UPDATE', [idToBytes(endpointId)]);
  const { id } = await captureOne(api.url, endpointId, { body: 'once' });
  await eventually(async () => (await environment.queue.getActiveCount()) === 1);
  // … then Redis hangs, so that the commit succeeds and the completion does not.
  await admin.call('CLIENT', 'PAUSE', '60000', 'WRITE');
  await lock.query('COMMIT');
  lock.release();
  await eventually(async () => (await environment.db.knex('requests').where({ id: idToBytes(id) })).length === 1);
  expect(await worker.end('SIGKILL')).toBe('SIGKILL');
  await admin.call('CLIENT', 'UNPAUSE');
  expect(await environment.queue.getActiveCount()).toBe(1);

  worker = await startWorker();
  await environment.drained();
  const rows = await environment.db.knex('requests').where({ endpoint_id: idToBytes(endpointId) });
  expect(rows).toHaveLength(1);
  expect((await owner.endpoint(endpointId)).body.request_count).toBe(1);
  expect((await owner.endpoints()).body.usage.dailyRequests).toBe(1);
  expect(await environment.queue.getFailedCount()).toBe(0);
});

test('a job whose worker was killed again and again is stored, not given up', async () => {
  const lock = await environment.db.pool.getConnection();
  await lock.query('START TRANSACTION');
  await lock.query('SELECT id FROM endpoints WHERE id = ? FOR UPDATE', [idToBytes(endpointId)]);
  const { id } = await captureOne(api.url, endpointId);
  for (let death = 1; death <= 4; death += 1) {
    const holder = worker;
    await eventually(
      async () =>
        (await environment.queue.getActiveCount()) === 1 &&
        (await environment.redis.exists(
          `${environment.queue.toKey((await environment.queue.getRanges(['active'], 0, 0))[0] ?? '')}:lock`,
        )) === 1,
    );
    await holder.end('SIGKILL');
    worker = await startWorker();
    // Until the new worker has taken the job, the dead one holds its lock.
    await eventually(async () => (await environment.queue.getJobs(['active']))[0]?.stalledCounter === death);
  }
  await lock.query('COMMIT');
  lock.release();
  await environment.drained();
  expect(await environment.db.knex('requests').where({ id: idToBytes(id) })).toHaveLength(1);
  expect(await environment.queue.getFailedCount()).toBe(0);
});

test('workers and APIs killed at random under load: receipts, rows and counters agree', async () => {
  const second = await startRole('api', environment.env);
  const apis = [api, second];
  const load = startLoad({ url: () => `${apis[Math.floor(Math.random() * 2)]?.url}/h/${endpointId}`, connections: 16 });
  for (let round = 0; round < 6; round += 1) {
    const before = load.outcomes.length;
    await eventually(() => load.outcomes.length > before + 300);
    if (round % 2 === 0) {
      await worker.end('SIGKILL');
      worker = await startWorker();
    } else {
      await apis[1]?.end('SIGKILL');
      apis[1] = await startRole('api', environment.env);
    }
  }
  await load.stop();
  await apis[1]?.end();
  await environment.drained();
  const { receipts } = await expectBalanced(environment.db, endpointId, load.outcomes);
  expect(receipts).toBeGreaterThan(1_000);
  expect(await environment.queue.getFailedCount()).toBe(0);
});

test('APIs, workers and Redis killed under large bodies: receipts, rows and counters agree, and no body is left in Redis', async () => {
  const { queues, redis, config, db } = environment;
  const killed = { api: await startRole('api', environment.env) };
  const load = startLoad({ url: () => `${killed.api.url}/h/${endpointId}`, connections: 6, bodyBytes: 700_000 });
  const receipts = (): number => load.outcomes.filter(({ kind }) => kind === 'receipt').length;
  for (let round = 0; round < 6; round += 1) {
    const before = receipts();
    await eventually(() => receipts() > before + 15);
    if (round % 3 === 0) {
      await killed.api.end('SIGKILL');
      killed.api = await startRole('api', environment.env);
    } else if (round % 3 === 1) {
      await worker.end('SIGKILL');
      worker = await startWorker();
    } else {
      servers.redis.process.kill('SIGKILL');
      await eventually(() => servers.redis.process.signalCode !== null);
      await servers.restartRedis();
    }
  }
  await load.stop();
  await killed.api.end();
  await environment.drained();
  await expectBalanced(db, endpointId, load.outcomes);
  expect(await queues['capture-large'].getFailedCount()).toBe(0);
  // What the reconciler does a minute later.
  await reconcileQuota(
    redis,
    config.redis.prefix,
    (ids) => findStoredBatches(db.pool, ids),
    (id) => removeLargeBody(redis, config.redis.prefix, id),
    -1_000,
  );
  expect(await redis.keys(queues['capture-large'].toKey('body:*'))).toEqual([]);
});

test('a large job without its body completes when its capture is stored, and otherwise fails visibly', async () => {
  const { queues, redis } = environment;
  const large = queues['capture-large'];
  const { id } = await captureOne(api.url, endpointId, { body: Buffer.alloc(800_000, 7) });
  await environment.drained();
  const [stored] = await environment.db.knex('capture_batches').orderBy('id', 'desc').limit(1).pluck('id');
  const batch = {
    id: bytesToId(stored as Buffer),
    day: '2026-03-01',
    captures: [makeCapture(endpointId, { body: Buffer.alloc(800_000) })],
  };
  await enqueueLargeCapture(large, redis, environment.config.redis.prefix, batch);
  await environment.drained();
  expect(await large.getFailedCount()).toBe(0);
  expect((await owner.list(endpointId)).body.requests.map((entry) => entry.id)).toEqual([id]);

  await large.pause();
  await enqueueLargeCapture(large, redis, environment.config.redis.prefix, { ...batch, id: newTimeOrderedId() });
  await redis.del(...(await redis.keys(large.toKey('body:*'))));
  await large.resume();
  await eventually(() =>
    worker.log.some(
      ({ msg, error }) =>
        msg === 'Job failed' && JSON.stringify(error).includes('body of this large capture is missing'),
    ),
  );
  expect((await owner.list(endpointId)).body.total).toBe(1);
  await large.obliterate({ force: true });
});

test('a worker that is suspended beyond its lock stores nothing twice', async () => {
  const other = await startWorker();
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 8 });
  for (let round = 0; round < 3; round += 1) {
    const before = load.outcomes.length;
    await eventually(() => load.outcomes.length > before + 200);
    worker.child.kill('SIGSTOP');
    // Twice the duration of its lock: the other worker has taken its jobs by then.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    worker.child.kill('SIGCONT');
  }
  await load.stop();
  await environment.drained();
  await expectBalanced(environment.db, endpointId, load.outcomes);
  await other.end();
});
