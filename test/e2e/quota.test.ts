import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { idToBytes } from '../../src/domain/ids.ts';
import { utcDay } from '../../src/domain/time.ts';
import { findQueued } from '../../src/queue/capture-queue.ts';
import { reconcileQuota } from '../../src/redis/quota.ts';
import { findStoredBatches } from '../../src/store/capture-batches.ts';
import { startLoad } from '../support/accounting.ts';
import { client, mintToken } from '../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startPrivateServers, type PrivateServers } from '../support/private-servers.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

const CAP = 10_000;
const RACES = 20;

// Private servers, because this file kills Redis.
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-quota-'));
let servers: PrivateServers;
let environment: Environment;
let env: Record<string, string>;
let apis: RoleProcess[];
let worker: RoleProcess;

beforeAll(async () => {
  servers = await startPrivateServers(dataDir);
  environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
  env = { ...environment.env, PLANS: JSON.stringify({ race: { dailyRequests: CAP } }) };
  [worker, apis] = await Promise.all([
    startRole('worker', env),
    Promise.all(Array.from({ length: 4 }, () => startRole('api', env))),
  ]);
});
afterAll(async () => {
  await Promise.all([...apis, worker].map((process) => process.end()));
  await environment.close();
  await servers.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

interface Race {
  receipts: number;
  refused: number;
  rows: number;
  counted: number;
  dailyRequests: number;
}

/** All pods race for one user's cap until senders have received 429 for a while. */
async function race(user: string, disturb: () => Promise<void> = async () => {}): Promise<Race> {
  const owner = client(apis[0]?.url ?? '', mintToken(user, { plan: 'race' }));
  const { id } = (await owner.create()).body;
  const load = startLoad({
    url: () => `${apis[Math.floor(Math.random() * apis.length)]?.url}/h/${id}`,
    connections: 64,
    bodyBytes: 16,
  });
  const refused = (): number => load.outcomes.filter(({ status }) => status === 429).length;
  await eventually(() => load.outcomes.length > CAP / 3);
  await disturb();
  await eventually(() => refused() > 200);
  await load.stop();
  await environment.drained();
  await reconcileQuota(environment.redis, environment.config.redis.prefix, keptBatches, async () => {}, -1_000);
  const counts = Object.values(
    await environment.redis.hgetall(`{${environment.config.redis.prefix}}:quota:user:${user}`),
  );
  return {
    receipts: load.outcomes.filter(({ kind }) => kind === 'receipt').length,
    refused: refused(),
    rows: (await environment.db.knex('requests').where({ endpoint_id: idToBytes(id) })).length,
    counted: counts.reduce((sum, count) => sum + Number(count), 0),
    dailyRequests: (await owner.endpoints()).body.usage.dailyRequests,
  };
}

async function keptBatches(batchIds: string[]): Promise<Set<string>> {
  const queued = await findQueued(environment.queues, environment.redis, batchIds);
  return new Set(queued).union(await findStoredBatches(environment.db.pool, batchIds));
}

test(`four API processes race for a cap of ${CAP}: exactly ${CAP} are accepted, ${RACES} times out of ${RACES}`, async () => {
  for (let n = 1; n <= RACES; n += 1) {
    const day = utcDay(Date.now());
    const result = await race(`racer-${n}`);
    // A race over midnight would fill two days.
    if (utcDay(Date.now()) !== day) continue;
    expect(result).toEqual({ receipts: CAP, refused: expect.any(Number), rows: CAP, counted: CAP, dailyRequests: CAP });
  }
}, 900_000);

test('with Redis or an API killed in the middle: never more than the cap, and after reconciliation the count equals the rows', async () => {
  const killRedis = async (): Promise<void> => {
    servers.redis.process.kill('SIGKILL');
    await eventually(() => servers.redis.process.signalCode !== null);
    await servers.restartRedis();
  };
  const killApi = async (): Promise<void> => {
    await apis[3]?.end('SIGKILL');
    apis[3] = await startRole('api', env);
  };
  for (const [n, disturb] of [killRedis, killApi, killRedis, killApi].entries()) {
    const day = utcDay(Date.now());
    const { receipts, rows, counted, dailyRequests } = await race(`disturbed-${n}`, disturb);
    if (utcDay(Date.now()) !== day) continue;
    expect(rows).toBeLessThanOrEqual(CAP);
    expect(receipts).toBeLessThanOrEqual(rows);
    expect([counted, dailyRequests]).toEqual([rows, rows]);
  }
}, 900_000);
