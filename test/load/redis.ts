/*
 * `npm run bench:redis`: captures on one Redis, on a Redis Cluster of three masters with a shard each, and on a master
 * that waits for a replica, in turn. Everything is on this machine, so more servers make nothing faster here: it shows
 * what they cost. Each row is one API and one worker process, and after each load receipts have to equal rows.
 *
 *   npm run bench:redis -- [connections, 64] [seconds, 8] [rounds, 3]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MysqlConfig, RedisConfig } from '../../src/config.ts';
import { say, step } from '../../src/local/progress.ts';
import { client, mintToken } from '../support/client.ts';
import { openEnvironment, type Environment } from '../support/environment.ts';
import { startPrivateServers } from '../support/private-servers.ts';
import { startRole } from '../support/processes.ts';
import { startCluster, startSentinelGroup } from '../support/redis-groups.ts';
import { cpuOf } from './bench/cpu.ts';
import { spreadOf } from '../support/statistics.ts';
import { startGenerator } from './generator/generator.ts';

const USERS = 30;
const BODY_BYTES = 1024;

interface Servers {
  mysql: MysqlConfig;
  redis: RedisConfig;
  pids: number[];
  stop(): Promise<void>;
}

interface Round {
  rate: number;
  p50: number;
  p99: number;
  cpu: Record<'api' | 'worker' | 'redis', number>;
}

const [connections = 64, seconds = 8, rounds = 3] = process.argv.slice(2).map(Number);
const pidOf = ({ process: { pid = 0 } }: { process: { pid?: number | undefined } }): number => pid;
const SUBJECTS: Record<string, (dataDir: string) => Promise<Servers>> = {
  'one Redis': async (dataDir) => {
    const servers = await startPrivateServers(dataDir);
    const { mysql, redis } = servers;
    return { mysql: mysql.config, redis: redis.config, pids: [pidOf(redis)], stop: () => servers.stop() };
  },
  'three masters, three shards': async (dataDir) => {
    const group = await startCluster(dataDir);
    return { ...group, redis: { ...group.redis, shards: 3 }, pids: group.members.map(pidOf) };
  },
  'a replica that confirms': async (dataDir) => {
    const group = await startSentinelGroup(dataDir);
    return { ...group, redis: { ...group.redis, waitReplicas: 1 }, pids: group.members.map(pidOf) };
  },
};

const generator = startGenerator();
const opened = await step('Starting the servers', () => Promise.all(Object.entries(SUBJECTS).map(open)));
const results = new Map<string, Round[]>(opened.map(({ name }) => [name, []]));
for (let round = 1; round <= rounds; round += 1) {
  for (const { name, measure } of opened)
    results.get(name)?.push(await step(`Round ${round}: ${name}`, () => measure()));
}
say(`
Conditions: ${cpus().length} cores, Node ${process.version}, everything on one machine, ${connections} connections, ${USERS} users, ${rounds} rounds of ${seconds} s
subject; receipts/s; p50 and p99 in ms; CPU µs a capture: API, worker, all Redis servers`);
for (const [name, ofSubject] of results) {
  const median = (value: (round: Round) => number): number => spreadOf(ofSubject.map(value)).median;
  const latency = [median(({ p50 }) => p50), median(({ p99 }) => p99)].map((ms) => ms.toFixed(1));
  const cpu = (['api', 'worker', 'redis'] as const).map((part) => Math.round(median((round) => round.cpu[part])));
  const { median: rate, min, max } = spreadOf(ofSubject.map((round) => round.rate));
  say(`${name}; ${[rate, min, max].map(Math.round).join(' / ')}; ${latency.join(', ')}; ${cpu.join(', ')}`);
}
generator.stop();
await Promise.all(opened.map(({ close }) => close()));

async function open([name, start]: [string, (dataDir: string) => Promise<Servers>]) {
  const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-bench-'));
  const servers = await start(dataDir);
  const environment = await openEnvironment(servers);
  const [api, worker] = await Promise.all([startRole('api', environment.env), startRole('worker', environment.env)]);
  const paths = await Promise.all(
    Array.from({ length: USERS }, async (_, i) => {
      const owner = client(api.url, mintToken(`user-${i}`, { plan: 'enterprise' }));
      return `/h/${(await owner.create()).body.id}`;
    }),
  );
  const pids = {
    api: [pidOf({ process: api.child })],
    worker: [pidOf({ process: worker.child })],
    redis: servers.pids,
  };
  const usage = (): Round['cpu'] => ({ api: cpuOf(pids.api), worker: cpuOf(pids.worker), redis: cpuOf(pids.redis) });

  async function measure(): Promise<Round> {
    const [before, stored] = [usage(), await rowsOf(environment)];
    const load = { ports: [api.port], paths, connections, bodyBytes: BODY_BYTES, newConnections: false, seconds };
    const { receipts, others, seconds: took, latency } = await generator.run(load);
    await environment.drained();
    const rows = (await rowsOf(environment)) - stored;
    if (rows !== receipts) throw new Error(`${name}: ${receipts} receipts, ${rows} rows, ${JSON.stringify(others)}`);
    const after = usage();
    const each = (part: keyof Round['cpu']): number => (after[part] - before[part]) / receipts;
    const cpu = { api: each('api'), worker: each('worker'), redis: each('redis') };
    return { rate: receipts / took, p50: latency.p50, p99: latency.p99, cpu };
  }

  async function close(): Promise<void> {
    await Promise.all([api.end(), worker.end()]);
    await environment.close();
    await servers.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
  return { name, measure, close };
}

async function rowsOf({ db }: Environment): Promise<number> {
  const [{ n } = { n: 0 }] = await db.knex('requests').count<{ n: number }[]>({ n: '*' });
  return n;
}
