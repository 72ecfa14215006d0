import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServerAddress } from '../../src/environment.ts';
import { expectBalanced, startLoad } from '../support/accounting.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startFollower } from '../support/live/follower.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';
import { startSentinelGroup, type Member, type SentinelGroup } from '../support/redis-groups.ts';

// A master, a replica of it, and three Sentinels.
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-sentinel-'));
let group: SentinelGroup;
let environment: Environment;
let users = 0;

beforeAll(async () => {
  group = await startSentinelGroup(dataDir);
  environment = await openEnvironment({ ...group, redis: { ...group.redis, waitReplicas: 1 } });
});
afterAll(async () => {
  await environment.close();
  await group.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const start = async (role: 'api' | 'worker', extra: Record<string, string> = {}): Promise<RoleProcess> =>
  closing(
    await startRole(role, { ...environment.env, JOB_LOCK_MS: '2000', ...extra }),
    async (open) => void (await open.end()),
  );

async function newEndpoint(api: RoleProcess): Promise<{ owner: Client; token: string; endpointId: string }> {
  users += 1;
  const token = mintToken(`user-${users}`, { plan: 'enterprise' });
  const owner = client(api.url, token);
  return { owner, token, endpointId: (await owner.create()).body.id };
}

const hasRole = async ({ admin }: Member, role: string): Promise<boolean> =>
  (await admin.info('replication')).includes(`role:${role}`);

/** Whether all Sentinels name this master, and are not about to replace it. */
async function agreed({ ports }: Member): Promise<boolean> {
  const views = await Promise.all(
    group.sentinels.map(async ({ host, port }) => {
      const sentinel = new Redis({ host, port });
      const view = (await sentinel.call('SENTINEL', 'MASTER', 'mymaster')) as string[];
      sentinel.disconnect();
      return new Map(view.flatMap((name, i) => (i % 2 === 0 ? [[name, view[i + 1]]] : [])));
    }),
  );
  return views.every((view) => view.get('port') === String(ports.port) && view.get('flags') === 'master');
}

/** The master and its replica, once the Sentinels agree and the replica follows. */
async function roles(): Promise<[Member, Member]> {
  let found: Member[] = [];
  await eventually(async () => {
    const isMaster = await Promise.all(group.members.map((member) => hasRole(member, 'master')));
    found = group.members.toSorted(
      (a, b) => Number(isMaster[group.members.indexOf(b)]) - Number(isMaster[group.members.indexOf(a)]),
    );
    const follows = await (found[1] as Member).admin.info('replication');
    return (
      isMaster.filter(Boolean).length === 1 &&
      follows.includes('master_link_status:up') &&
      (await agreed(found[0] as Member))
    );
  });
  return found as [Member, Member];
}

/** A Sentinel has to know the replica first. */
async function planFailover(): Promise<void> {
  const [{ host, port }] = group.sentinels as [ServerAddress];
  const sentinel = closing(new Redis({ host, port }), (open) => open.disconnect());
  await eventually(async () => (await sentinel.call('SENTINEL', 'FAILOVER', 'mymaster')) === 'OK');
}

/** Cuts a replica off: it answers, and nothing that the master writes from now on reaches it. */
async function cutOff(master: Member, replica: Member): Promise<void> {
  await replica.admin.config('SET', 'masterauth', 'wrong');
  await eventually(async () => {
    await master.admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
    return (await replica.admin.info('replication')).includes('master_link_status:down');
  });
}

/** Kills the master, and has the replica take over that was cut off. It starts again when no Sentinel names it. */
async function failOverToOutdated(master: Member, replica: Member): Promise<void> {
  await master.kill('SIGKILL');
  await eventually(async () => (await hasRole(replica, 'master')) && (await agreed(replica)));
  await replica.admin.config('SET', 'masterauth', environment.config.redis.password ?? '');
  await master.restart();
}

test('replicas take over under load, from a master that lives and one that was killed: no receipt is lost', async () => {
  const [api] = await Promise.all([start('api', { DURABILITY: 'strict' }), start('worker', { DURABILITY: 'strict' })]);
  const { owner, token, endpointId } = await newEndpoint(api);
  const follower = closing(startFollower(api.url, token, [endpointId]), (open) => open.close());
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 8 });
  const receipts = (): number => load.outcomes.filter(({ kind }) => kind === 'receipt').length;
  for (const isPlanned of [true, false]) {
    const [master, replica] = await roles();
    const before = receipts();
    await eventually(() => receipts() > before + 200);
    await (isPlanned ? planFailover() : master.kill('SIGKILL'));
    await eventually(() => hasRole(replica, 'master'));
    // Until the next master has a replica, too, it cannot promise anything.
    if (!isPlanned) await master.restart();
  }
  const before = receipts();
  await eventually(() => receipts() > before + 200);
  await load.stop();
  await environment.drained();
  expect(load.outcomes.filter(({ kind, ms }) => kind === 'refused' || ms > 4_000)).toEqual([]);
  await expectBalanced(environment.db, endpointId, load.outcomes);
  const { request_count: count } = (await owner.endpoint(endpointId)).body;
  await eventually(() => follower.seen.get(endpointId)?.size === count);
});

test('while no replica confirms, captures get 503, so a failover to it loses no receipt [503]', async () => {
  const [master, replica] = await roles();
  const api = await start('api');
  const { endpointId } = await newEndpoint(api);
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 4 });
  await eventually(() => load.outcomes.length > 100);
  await cutOff(master, replica);
  await eventually(() => load.outcomes.at(-1)?.status === 503);
  const before = load.outcomes.length;
  await eventually(() => load.outcomes.length > before + 8);
  expect(load.outcomes.slice(before).filter(({ status }) => status !== 503)).toEqual([]);
  await failOverToOutdated(master, replica);
  const failedOver = load.outcomes.length;
  await eventually(() => load.outcomes.slice(failedOver).some(({ kind }) => kind === 'receipt'));
  await load.stop();
  await start('worker');
  await environment.drained();
  await expectBalanced(environment.db, endpointId, load.outcomes);
});

test('without REDIS_WAIT_REPLICAS that failover loses receipts, and a process says so at its start', async () => {
  const [master, replica] = await roles();
  const api = await start('api', { REDIS_WAIT_REPLICAS: '0' });
  await eventually(() => api.log.some(({ msg }) => String(msg).includes('REDIS_WAIT_REPLICAS must be 1 or more')));
  const { endpointId } = await newEndpoint(api);
  await cutOff(master, replica);
  const load = startLoad({ url: () => `${api.url}/h/${endpointId}`, connections: 4 });
  await eventually(() => load.outcomes.length > 100);
  await load.stop();
  expect(load.outcomes.every(({ kind }) => kind === 'receipt')).toBe(true);
  await failOverToOutdated(master, replica);
  await start('worker');
  await environment.drained();
  await expect(expectBalanced(environment.db, endpointId, load.outcomes)).rejects.toThrow('receipts without their row');
});
