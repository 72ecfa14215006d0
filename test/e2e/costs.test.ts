import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLoad } from '../support/accounting.ts';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startPrivateServers, type PrivateServers } from '../support/private-servers.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

/*
 * What a capture costs, counted in steps: these do not depend on the speed of a machine. The servers' own counters are
 * read, so nothing else may use the servers.
 */

const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-costs-'));
let servers: PrivateServers;
let environment: Environment;
let api: RoleProcess;
let owner: Client;
let endpointId: string;

beforeAll(async () => {
  servers = await startPrivateServers(dataDir);
  environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
  api = await startRole('api', environment.env);
  owner = client(api.url, mintToken('ann', { plan: 'enterprise' }));
  endpointId = (await owner.create()).body.id;
  // The first one finds the endpoint in the database and reads the day's count.
  await captureOne(api.url, endpointId);
});
afterAll(async () => {
  await api.end();
  await environment.close();
  await servers.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Sends over 32 connections at once, to endpoints at random; returns the number of receipts. */
async function send(endpointIds: string[]): Promise<number> {
  const load = startLoad({
    url: () => `${api.url}/h/${endpointIds[Math.floor(Math.random() * endpointIds.length)]}`,
    connections: 32,
    bodyBytes: 1_000,
  });
  await eventually(() => load.outcomes.length > 2_000);
  await load.stop();
  expect(load.outcomes.every(({ kind }) => kind === 'receipt')).toBe(true);
  return load.outcomes.length;
}

/** Counts what `work` adds to counters. */
async function added<T extends Record<string, number>>(
  read: () => Promise<T>,
  work: () => Promise<unknown>,
): Promise<T> {
  const before = await read();
  await work();
  const after = await read();
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)])) as T;
}

async function batches(): Promise<number> {
  return (await scrape(api.internalPort)).value('hookbay_batch_captures_count') ?? 0;
}

async function readRedis() {
  const [commands, persistence] = await Promise.all(
    ['commandstats', 'persistence'].map((section) => environment.redis.info(section)),
  );
  const calls = (command: string): number =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(commands ?? '')?.[1] ?? 0);
  const value = (text: string | undefined, name: string): number =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text ?? '')?.[1]);
  const io = readFileSync(`/proc/${servers.redis.process.pid}/io`, 'utf8');
  return {
    batches: await batches(),
    transactions: calls('exec'),
    scripts: calls('evalsha') + calls('eval'),
    jobs: calls('lpush'),
    // With `appendfsync always` Redis flushes after each write to its file; the other writes are answers.
    writes: Number(/^syscw: (\d+)/m.exec(io)?.[1]),
    fileBytes: value(persistence, 'aof_current_size'),
  };
}

test('a batch is one transaction of Redis and one flush to its disk', async () => {
  const CAPTURES = 200;
  const body = JSON.stringify({ text: 'x'.repeat(1_000) });
  const cost = await added(readRedis, async () => {
    for (let n = 0; n < CAPTURES; n += 1) await captureOne(api.url, endpointId, { method: 'POST', body });
  });
  expect(cost).toMatchObject({ batches: CAPTURES, transactions: CAPTURES, jobs: CAPTURES });
  // The reservation and the job, within the transaction.
  expect(cost.scripts).toBe(2 * CAPTURES);
  // One to the file and one answer; others answer what the process asks at intervals.
  expect(cost.writes).toBeGreaterThanOrEqual(2 * CAPTURES);
  expect(cost.writes).toBeLessThan(3 * CAPTURES);
  expect(cost.fileBytes / CAPTURES).toBeLessThan(3_500);
});

test('captures of many senders share batches: their number divides the cost', async () => {
  let receipts = 0;
  const cost = await added(readRedis, async () => {
    receipts = await send([endpointId]);
  });
  expect(cost.transactions).toBe(cost.batches);
  expect(cost.batches).toBeLessThan(receipts / 8);
  expect(cost.fileBytes / receipts).toBeLessThan(2_000);
});

test('a worker takes the jobs that wait in one step, and finishes them in one', async () => {
  const JOBS = 40;
  const worker = await startRole('worker', environment.env);
  await captureOne(api.url, endpointId);
  await environment.drained();
  worker.child.kill('SIGSTOP');
  for (let n = 0; n < JOBS; n += 1) await captureOne(api.url, endpointId);
  const cost = await added(readRedis, async () => {
    worker.child.kill('SIGCONT');
    await environment.drained();
  });
  await worker.end();
  // BullMQ's own loop makes about 100.
  expect(cost.writes).toBeLessThan(JOBS);
});

const STATEMENTS = ['Com_begin', 'Com_commit', 'Com_insert', 'Com_update', 'Com_select', 'Com_savepoint'] as const;

async function readDatabase(): Promise<Record<(typeof STATEMENTS)[number] | 'Com_stmt_execute', number>> {
  const [rows] = await environment.db.pool.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Com_%'");
  const values = new Map(rows.map((row) => [row['Variable_name'] as string, Number(row['Value'])]));
  const names = [...STATEMENTS, 'Com_stmt_execute'] as const;
  return Object.fromEntries(names.map((name) => [name, values.get(name) ?? 0])) as Awaited<
    ReturnType<typeof readDatabase>
  >;
}

test('a transaction has the same statements, however many batches, captures and endpoints it stores', async () => {
  const ids = [
    endpointId,
    ...(await Promise.all(Array.from({ length: 9 }, () => owner.create()))).map(({ body }) => body.id),
  ];
  // Read by the worker when it starts, and stored before anything is counted.
  const worker = await startRole('worker', environment.env);
  await environment.drained();
  const transactions = async (): Promise<number> =>
    (await scrape(worker.internalPort)).value('hookbay_persist_seconds_count') ?? 0;
  let receipts = 0;
  const cost = await added(
    async () => ({ ...(await readDatabase()), transactions: await transactions() }),
    async () => {
      receipts = await send(ids);
      await environment.drained();
    },
  );
  await worker.end();
  const { transactions: count } = cost;
  expect(count).toBeGreaterThan(10);
  expect(cost).toMatchObject({ Com_update: count, Com_savepoint: 0 });
  // One INSERT for each 64 rows, and two others: the ledger and the usage.
  expect(cost.Com_stmt_execute).toBeLessThanOrEqual(count + receipts / 64);
  expect(cost.Com_insert).toBe(2 * count + cost.Com_stmt_execute);
  // Sweeps begin at any time.
  expect(cost.Com_begin - count).toBeLessThan(5);
  expect(cost.Com_commit - count).toBeLessThan(5);
  expect(cost.Com_select).toBeLessThan(count * 1.1 + 20);
});
