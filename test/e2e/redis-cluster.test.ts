import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { slotOf, SLOTS } from '../../src/redis/slots.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectBalanced, startLoad } from '../support/accounting.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startFollower } from '../support/live/follower.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';
import { startCluster, type Member, type RedisGroup } from '../support/redis-groups.ts';

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

/** The server that was started as the master of a key. */
function firstMasterOf(key: string): Member {
  return group.members[Math.floor((slotOf(key) * 3) / SLOTS)] as Member;
}

test('captures on a Redis Cluster: receipts, rows and counters agree', async () => {
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 8 });
  await eventually(() => load.outcomes.length > 300);
  await load.stop();
  await environment.drained();
  expect(load.outcomes.filter(({ kind }) => kind !== 'receipt')).toEqual([]);
  await expectBalanced(environment.db, endpointId, load.outcomes);
});

test('a master is killed under load: its replica takes over, captures go on, and a subscriber sees them all', async () => {
  const token = mintToken('ann', { plan: 'enterprise' });
  const follower = startFollower(api.url, token, [endpointId]);
  const before = (await owner.endpoint(endpointId)).body.request_count;
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 8 });
  await eventually(() => load.outcomes.length > 300 && (follower.seen.get(endpointId)?.size ?? 0) > before + 100);
  const master = firstMasterOf(`{${environment.config.redis.prefix}}`);
  await master.kill('SIGKILL');
  const killed = load.outcomes.length;
  await eventually(() => load.outcomes.slice(killed).filter(({ kind }) => kind === 'receipt').length > 300);
  await load.stop();
  await environment.drained();
  const slow = load.outcomes.filter(({ ms }) => ms > 4_000);
  expect(slow).toEqual([]);
  const count = (await owner.endpoint(endpointId)).body.request_count;
  await eventually(() => follower.seen.get(endpointId)?.size === count);
  follower.close();
  await master.restart();
});
