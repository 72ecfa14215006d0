import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { captureOne, client, mintToken } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startPrivateServers, type PrivateServers } from '../support/private-servers.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

// Private servers, because this file changes their settings.
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-durability-'));
let servers: PrivateServers;
let environment: Environment;
let admin: Redis;

const WRONG = {
  appendonly: 'no',
  appendfsync: 'everysec',
  'no-appendfsync-on-rewrite': 'yes',
  'maxmemory-policy': 'allkeys-lru',
};
const RIGHT = {
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'maxmemory-policy': 'noeviction',
};

beforeAll(async () => {
  servers = await startPrivateServers(dataDir);
  environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
  admin = openRedis(servers.redis.config, 'worker', createLog('silent'));
});
afterAll(async () => {
  closeRedis(admin);
  await environment.close();
  await servers.stop();
  rmSync(dataDir, { recursive: true, force: true });
});
afterEach(async () => {
  await configure(RIGHT);
  await environment.db.knex.raw('SET GLOBAL innodb_flush_log_at_trx_commit = 1');
});

async function configure(settings: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) await admin.config('SET', name, value);
}

const end = async (started: RoleProcess): Promise<void> => void (await started.end());
const said = ({ log }: RoleProcess, text: string | RegExp): string[] =>
  log.map(({ msg }) => String(msg)).filter((msg) => msg.match(text));
/** Starts a role; resolves when its output up to readiness has arrived. */
const start = async (role: 'api' | 'worker', env: Record<string, string>): Promise<RoleProcess> => {
  const started = closing(await startRole(role, { ...environment.env, ...env }), end);
  await eventually(() => said(started, /^Ready$/).length === 1);
  return started;
};
/** Starts a role that does not become ready; resolves when it logs why. */
const startUnready = async (
  role: 'api' | 'worker',
  env: Record<string, string>,
): Promise<{ process: RoleProcess; reasons: () => Promise<string[]> }> => {
  const started = closing(await startRole(role, { ...environment.env, ...env }, { untilReady: false }), end);
  const reasons = async (): Promise<string[]> =>
    ((await (await fetch(`http://127.0.0.1:${started.internalPort}/readyz`)).json()) as { reasons: string[] }).reasons;
  await eventually(async () => (await reasons()).some((reason) => reason.startsWith('DURABILITY')));
  return { process: started, reasons };
};
const warnings = ({ log }: RoleProcess): string[] =>
  log.filter(({ level, durability }) => level === 40 && durability !== undefined).map(({ msg }) => String(msg));

describe.each(['api', 'worker'] as const)('%s', (role) => {
  test('on servers as `npm start` runs them: no warning, and ready under strict', async () => {
    expect(warnings(await start(role, { DURABILITY: 'strict' }))).toEqual([]);
  });

  test('warns of each unsafe setting once, names the loss, and becomes ready', async () => {
    await configure(WRONG);
    await environment.db.knex.raw('SET GLOBAL innodb_flush_log_at_trx_commit = 2');
    expect(warnings(await start(role, {}))).toEqual([
      expect.stringMatching(/^appendonly of Redis is no and must be yes: otherwise .*loses/),
      expect.stringMatching(/^appendfsync of Redis is everysec and must be always: otherwise .*loses/),
      expect.stringMatching(/^no-appendfsync-on-rewrite of Redis is yes and must be no: otherwise .*loses/),
      expect.stringMatching(/^maxmemory-policy of Redis is allkeys-lru and must be noeviction: otherwise .*evict/),
      expect.stringMatching(/^innodb_flush_log_at_trx_commit of MySQL is 2 and must be 1: otherwise .*loses/),
    ]);
  });

  test('under strict it is not ready, reports why, warns once whatever the number of checks, and becomes ready when all settings are safe', async () => {
    await configure({ appendfsync: 'everysec' });
    await environment.db.knex.raw('SET GLOBAL innodb_flush_log_at_trx_commit = 0');
    const { process, reasons } = await startUnready(role, { DURABILITY: 'strict' });
    expect(await reasons()).toEqual([
      expect.stringMatching(/^DURABILITY is strict: appendfsync of Redis is everysec and must be always/),
      expect.stringMatching(/^DURABILITY is strict: innodb_flush_log_at_trx_commit of MySQL is 0 and must be 1/),
    ]);
    await configure(RIGHT);
    // It checks again: the first reason disappears, the second one stays.
    await eventually(async () => (await reasons()).length === 1);
    await eventually(() => said(process, /^Not ready yet$/).length > 1);
    expect(warnings(process)).toHaveLength(2);
    await environment.db.knex.raw('SET GLOBAL innodb_flush_log_at_trx_commit = 1');
    await eventually(async () => (await reasons()).length === 0);
  });

  test('where CONFIG is forbidden it warns that the settings are unknown; under strict it is not ready and names the command to allow', async () => {
    await admin.call('ACL', 'SETUSER', 'narrow', 'on', '>narrow', '~*', '&*', '+@all', '-config');
    const narrow = { REDIS_USERNAME: 'narrow', REDIS_PASSWORD: 'narrow' };
    expect(warnings(await start(role, narrow))).toEqual([
      expect.stringMatching(/could not be checked.*allow it \(ACL \+config\|get\).*appendfsync always/),
    ]);
    const { reasons } = await startUnready(role, { ...narrow, DURABILITY: 'strict' });
    expect(await reasons()).toEqual([
      expect.stringMatching(/^DURABILITY is strict: .*could not be checked.*\+config\|get/),
    ]);
    await admin.call('ACL', 'SETUSER', 'narrow', '+config|get');
    await eventually(async () => (await reasons()).length === 0);
  });
});

test('where INFO is forbidden, an api warns once that the memory of Redis is unknown, and works', async () => {
  await admin.call('ACL', 'SETUSER', 'blind', 'on', '>blind', '~*', '&*', '+@all', '-info');
  const api = await start('api', { REDIS_USERNAME: 'blind', REDIS_PASSWORD: 'blind' });
  await eventually(() => said(api, /INFO is forbidden/).length > 0);
  expect(said(api, /INFO is forbidden/)).toHaveLength(1);
  await expectJsonLines(api, 'Skipping the ready check');
});

test('where INFO is forbidden, a worker is not ready and names the command to allow', async () => {
  await admin.call('ACL', 'SETUSER', 'blind', 'on', '>blind', '~*', '&*', '+@all', '-info');
  const worker = closing(
    await startRole(
      'worker',
      { ...environment.env, REDIS_USERNAME: 'blind', REDIS_PASSWORD: 'blind' },
      { untilReady: false },
    ),
    end,
  );
  const ready = async (): Promise<{ reasons?: string[] }> =>
    (await (await fetch(`http://127.0.0.1:${worker.internalPort}/readyz`)).json()) as { reasons?: string[] };
  await eventually(async () => (await ready()).reasons?.[0]?.includes("'info'") === true);
  expect((await ready()).reasons).toEqual([
    expect.stringMatching(/^Redis forbids a command that is needed: NOPERM .*'info'/),
  ]);
  await admin.call('ACL', 'SETUSER', 'blind', '+info');
  await eventually(() => said(worker, /^Worker is taking jobs$/).length === 1);
});

test('warnings of BullMQ are in the log, too', async () => {
  await configure(WRONG);
  await expectJsonLines(await start('worker', {}), 'Eviction policy');
});

/** Expects every line of a process's output to be JSON, including what a library wrote to the console. */
async function expectJsonLines(started: RoleProcess, fromConsole: string): Promise<void> {
  await eventually(() => started.log.some((line) => JSON.stringify(line['console'])?.includes(fromConsole)));
  await started.end();
  for (const line of started.output().trim().split('\n'))
    expect(JSON.parse(line)).toMatchObject({ msg: expect.any(String) });
}

test('an api under strict becomes ready without its database, because captures do not need it', async () => {
  const { url } = await environment.startApi();
  const { body } = await client(url, mintToken('ann')).create();
  await servers.mysql.stop();
  const api = await start('api', { DURABILITY: 'strict' });
  expect((await captureOne(api.url, body.id)).received).toBe(true);
  await servers.restartMysql();
  await environment.startWorker();
  await environment.drained();
});
