import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import type { RedisConfig } from '../../src/config.ts';
import { idToBytes } from '../../src/domain/ids.ts';
import type { PrivateServer } from '../../src/local/private-server.ts';
import { createLog } from '../../src/log.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { readMemory } from '../../src/redis/memory.ts';
import { expectBalanced, startLoad } from '../support/accounting.ts';
import { captureOne, client, mintToken, send } from '../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startPrivateRedis } from '../support/private-servers.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

// Within 250 ms, after which the memory is looked at again, two connections cannot fill the last 15 %.
const MAX_MEMORY = 128 * 1024 * 1024;

// A private Redis, because this file fills it.
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-full-'));
let redis: PrivateServer<RedisConfig>;
let environment: Environment;
let admin: Redis;
let api: RoleProcess;
let worker: RoleProcess;
let endpointId: string;

const startWorker = (): Promise<RoleProcess> => startRole('worker', { ...environment.env, JOB_LOCK_MS: '2000' });
const ballast = (): Promise<number> => admin.strlen(redisKeys(environment.config.redis.prefix).ballast);
const messages = ({ log }: RoleProcess): string[] => log.map(({ msg }) => String(msg));
const share = async (): Promise<number> => (await readMemory(admin)).used / MAX_MEMORY;

beforeAll(async () => {
  redis = await startPrivateRedis(dataDir);
  environment = await openEnvironment({ mysql: inject('mysql'), redis: redis.config });
  admin = openRedis(redis.config, 'worker', createLog('silent'));
  await admin.config('SET', 'maxmemory', MAX_MEMORY);
  [api, worker] = await Promise.all([startRole('api', environment.env), startWorker()]);
});
afterAll(async () => {
  await Promise.all([api.end(), worker.end()]);
  closeRedis(admin);
  await environment.close();
  await redis.stop();
  rmSync(dataDir, { recursive: true, force: true });
});
let users = 0;
beforeEach(async () => {
  users += 1;
  endpointId = (await client(api.url, mintToken(`user-${users}`, { plan: 'enterprise' })).create()).body.id;
  await eventually(async () => (await ballast()) === Math.floor(MAX_MEMORY / 20));
});

test('filled up with captures: senders get 503, restarted workers drain it, captures are accepted again, and nothing is lost or duplicated', async () => {
  await worker.end('SIGKILL');
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 2, bodyBytes: 16 * 1024 });
  const nearlyFull = 'Redis is nearly full: refusing captures until workers have made room';
  await eventually(() => messages(api).includes(nearlyFull) && load.outcomes.some(({ status }) => status === 503));
  const refused = await send(`${api.url}/h/${endpointId}`, { method: 'POST', body: 'x' });
  expect([refused.status, refused.headers['retry-after'], refused.body]).toEqual([
    503,
    '2',
    { error: expect.any(String) },
  ]);
  // The memory watch refuses, while there is room left, and not Redis.
  const reasons = new Set(api.log.filter(({ msg }) => msg === 'Captures refused').map(({ reason }) => reason));
  // On a slow disk captures also wait too long.
  reasons.delete('waited');
  expect(reasons).toEqual(new Set(['redis_full']));
  expect(await share()).toBeLessThan(0.98);
  const before = load.outcomes.length;

  worker = await startWorker();
  // A capture that was on its way when the refusals began may have its receipt after them.
  await eventually(() => messages(api).includes('Redis has room again: taking captures'));
  await eventually(() => load.outcomes.slice(before).some(({ kind }) => kind === 'receipt'));
  await load.stop();
  await environment.drained();
  const { receipts } = await expectBalanced(environment.db, endpointId, load.outcomes);
  expect(receipts).toBeGreaterThan(100);
  expect(await environment.queue.getFailedCount()).toBe(0);
});

test('at its hard limit, filled by keys of another application: the ballast lets a restarted worker drain it', async () => {
  await worker.end();
  const ids = await Promise.all(
    Array.from({ length: 50 }, async () => (await captureOne(api.url, endpointId, { body: 'kept' })).id),
  );
  await fillToTheBrim();
  expect(await ballast()).toBeGreaterThan(0);
  const refused = await send(`${api.url}/h/${endpointId}`, { method: 'POST' });
  expect(refused.status).toBe(503);

  worker = await startWorker();
  await environment.drained();
  expect(messages(worker)).toContain('Redis is full: freed the ballast, so that workers can drain it');
  expect(await environment.db.knex('requests').whereIn('id', ids.map(idToBytes))).toHaveLength(50);
  expect(await ballast()).toBe(0);

  // Those keys still exist: captures stay refused until there is room.
  expect((await send(`${api.url}/h/${endpointId}`, { method: 'POST' })).status).toBe(503);
  await admin.del(...(await admin.keys('other:*')));
  await eventually(async () => (await send(`${api.url}/h/${endpointId}`, { method: 'POST' })).status === 200);
  await eventually(async () => (await ballast()) > 0);
});

/** Sets keys until Redis refuses even a small one, and still does after it has freed the buffers of this. */
async function fillToTheBrim(): Promise<void> {
  let n = 0;
  const fill = async (bytes: number): Promise<void> => {
    try {
      for (;;) await admin.set(`other:${(n += 1)}`, 'x'.repeat(bytes));
    } catch (error) {
      if (!(error as Error).message.startsWith('OOM')) throw error;
    }
  };
  await fill(16 * 1024);
  let full = 0;
  await eventually(async () => {
    await fill(64);
    full = (await share()) > 0.99 ? full + 1 : 0;
    return full === 20;
  });
}
