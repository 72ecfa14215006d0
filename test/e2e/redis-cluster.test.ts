import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBalanced, startLoad } from '../support/accounting.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';
import { startCluster, type RedisGroup } from '../support/redis-groups.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-cluster-'));
let group: RedisGroup;
let environment: Environment;
let api: RoleProcess;
let worker: RoleProcess;
let owner: Client;
let endpointId: string;

beforeAll(async () => {
  group = await startCluster(dataDir, { replicas: true });
  environment = await openEnvironment(group);
  const env = { ...environment.env, JOB_LOCK_MS: '2000' };
  [api, worker] = await Promise.all([startRole('api', env), startRole('worker', env)]);
  owner = client(api.url, mintToken('ann', { plan: 'enterprise' }));
  endpointId = (await owner.create()).body.id;
});
afterAll(async () => {
  await Promise.all([api.end(), worker.end()]);
  await environment.close();
  await group.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

test('captures on a Redis Cluster: receipts, rows and counters agree', async () => {
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 8 });
  await eventually(() => load.outcomes.length > 300);
  await load.stop();
  await environment.drained();
  expect(load.outcomes.filter(({ kind }) => kind !== 'receipt')).toEqual([]);
  await expectBalanced(environment.db, endpointId, load.outcomes);
});
