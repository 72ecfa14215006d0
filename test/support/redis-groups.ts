import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { Redis } from 'ioredis';
import type { RedisConfig } from '../../src/config.ts';
import type { ServerAddress } from '../../src/environment.ts';
import { freePort, HOST, readOrMakeSecrets, untilReady } from '../../src/local/private-server.ts';
import { claimDataDir, stopProcess, type ProcessRegistry } from '../../src/local/processes.ts';
import { findOrInstallPrograms } from '../../src/local/programs.ts';
import { startMysql } from '../../src/local/mysql.ts';
import { DURABLE_SETTINGS, pingRedis, privateRedisConfig, redisServer } from '../../src/local/redis.ts';
import type { MysqlConfig } from '../../src/config.ts';
import { eventually } from './environment.ts';

/** A failure of a node is noticed after this time. */
const NODE_TIMEOUT_MS = 2_000;

export interface Ports {
  port: number;
  bus: number;
  tls: number;
}

/** One server of a group. */
export interface Member {
  ports: Ports;
  process: ChildProcess;
  /** A connection of the test. */
  admin: Redis;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts it again on its data. */
  restart(): Promise<void>;
}

export interface RedisGroup {
  mysql: MysqlConfig;
  redis: RedisConfig;
  /** Servers with data: of a cluster the masters, then their replicas in the same order; else master and replicas. */
  members: Member[];
  stop(): Promise<void>;
}

export interface SentinelGroup extends RedisGroup {
  sentinels: ServerAddress[];
}

interface Context {
  dataDir: string;
  registry: ProcessRegistry;
  program: string;
  password: string;
}

export interface ClusterSettings {
  masters?: number;
  /** Whether each master has a replica. */
  replicas?: boolean;
  /** A folder with `ca.pem`, `server.pem` and `server.key`: then the cluster speaks TLS. */
  certificates?: string;
}

/** A Redis Cluster, and a database. */
export async function startCluster(
  dataDir: string,
  { masters = 3, replicas = false, certificates }: ClusterSettings = {},
): Promise<RedisGroup> {
  const context = await openContext(dataDir);
  const settings = ({ bus, tls }: Ports): string[] => [
    'cluster-enabled yes',
    `cluster-port ${bus}`,
    `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
    'cluster-replica-validity-factor 0',
    'cluster-allow-replica-migration no',
    ...(certificates === undefined ? [] : [`tls-port ${tls}`, 'tls-cluster yes', ...tlsSettings(certificates)]),
  ];
  const members = await startMembers(context, replicas ? masters * 2 : masters, settings);
  const addresses = members.map(({ ports }) => (certificates === undefined ? ports.port : ports.tls));
  await joinCluster(members, masters, addresses);
  const cluster = addresses.slice(0, masters).map((port) => ({ host: HOST, port }));
  const redis = { ...privateRedisConfig(0, context.password), cluster, tls: certificates !== undefined };
  return { ...(await finish(context, members)), redis };
}

function tlsSettings(folder: string): string[] {
  const files = { 'ca-cert': 'ca.pem', cert: 'server.pem', key: 'server.key' };
  const lines = Object.entries(files).map(([name, file]) => `tls-${name}-file ${JSON.stringify(join(folder, file))}`);
  return ['tls-auth-clients no', ...lines];
}

function replicationTls(port: number, certificates: string | undefined): string[] {
  return certificates === undefined ? [] : [`tls-port ${port}`, 'tls-replication yes', ...tlsSettings(certificates)];
}

async function joinCluster(members: Member[], masters: number, addresses: number[]): Promise<void> {
  const [first] = members as [Member];
  for (const [i, { admin, ports }] of members.entries()) {
    const bounds = [i, i + 1].map((n) => Math.floor((n * 16_384) / masters));
    if (i < masters) await admin.cluster('ADDSLOTSRANGE', bounds[0] as number, (bounds[1] as number) - 1);
    if (i > 0) await first.admin.cluster('MEET', HOST, addresses[i] as number, ports.bus);
  }
  await eventually(async () => {
    const views = await Promise.all(members.map(async ({ admin }) => (await admin.cluster('NODES')) as string));
    return views.every((view) => view.trim().split('\n').length === members.length && !view.includes('handshake'));
  });
  for (const [i, { admin }] of members.slice(masters).entries())
    await admin.cluster('REPLICATE', await (members[i] as Member).admin.cluster('MYID'));
  await eventually(async () => {
    const states = await Promise.all(members.map(({ admin }) => admin.cluster('INFO')));
    const links = await Promise.all(members.slice(masters).map(async ({ admin }) => admin.info('replication')));
    return (
      states.every((state) => state.includes('cluster_state:ok')) &&
      links.every((link) => link.includes('master_link_status:up'))
    );
  });
}

export interface SentinelSettings {
  replicas?: number;
  settings?: string[];
  /** As for a cluster: then servers and Sentinels speak TLS, also with each other. */
  certificates?: string | undefined;
}

/** A master, replicas of it, three Sentinels, and a database. */
export async function startSentinelGroup(
  dataDir: string,
  { replicas = 1, settings = [] as string[], certificates }: SentinelSettings = {},
): Promise<SentinelGroup> {
  const context = await openContext(dataDir);
  const all = ({ tls }: Ports): string[] => [...settings, ...replicationTls(tls, certificates)];
  const [master] = (await startMembers(context, 1, all)) as [Member];
  const masterPort = certificates === undefined ? master.ports.port : master.ports.tls;
  const replicaOf = (ports: Ports): string[] => [...all(ports), `replicaof ${HOST} ${masterPort}`];
  const followers = await startMembers(context, replicas, replicaOf, 1);
  await eventually(async () => {
    const links = await Promise.all(followers.map(({ admin }) => admin.info('replication')));
    return links.every((link) => link.includes('master_link_status:up'));
  });
  const sentinels = await Promise.all(
    Array.from({ length: 3 }, (_, i) => startSentinel(context, i, masterPort, certificates)),
  );
  const members = [master, ...followers];
  const group = await finish(context, members);
  const addresses = sentinels.map(({ port }) => ({ host: HOST, port }));
  const tls = certificates !== undefined;
  const sentinel = { servers: addresses, name: 'mymaster', username: undefined, password: undefined, tls };
  return {
    ...group,
    sentinels: addresses,
    redis: { ...privateRedisConfig(0, context.password), sentinel, tls },
    async stop() {
      await Promise.all(sentinels.map(({ process }) => stopProcess(process.pid ?? 0)));
      await group.stop();
    },
  };
}

async function openContext(dataDir: string): Promise<Context> {
  const programs = await findOrInstallPrograms();
  const registry = await claimDataDir(dataDir);
  return { dataDir, registry, program: programs.redis, password: readOrMakeSecrets(dataDir).redisPassword };
}

async function finish(context: Context, members: Member[]): Promise<Pick<RedisGroup, 'mysql' | 'members' | 'stop'>> {
  const programs = await findOrInstallPrograms();
  const { mysqlPassword } = readOrMakeSecrets(context.dataDir);
  const mysql = await startMysql(programs, context.registry, context.dataDir, mysqlPassword);
  return {
    mysql: mysql.config,
    members,
    async stop() {
      for (const { admin } of members) admin.disconnect();
      // One that a test has stopped with SIGSTOP would not end.
      for (const { process } of members) process.kill('SIGCONT');
      await Promise.all([mysql.stop(), ...members.map(({ process }) => stopProcess(process.pid ?? 0))]);
      context.registry.release();
    },
  };
}

type Settings = (ports: Ports) => string[];

function startMembers(context: Context, count: number, settings: Settings, from = 0): Promise<Member[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => startMember(context, `redis-${from + i}`, settings)));
}

async function startMember(context: Context, name: string, more: Settings): Promise<Member> {
  const { password } = context;
  const [port, bus, tls] = await Promise.all([freePort(), freePort(), freePort()]);
  const ports = { port, bus, tls };
  const settings = [
    `port ${port}`,
    `requirepass ${password}`,
    `masterauth ${password}`,
    ...DURABLE_SETTINGS,
    'repl-diskless-sync-delay 0',
    ...more(ports),
  ];
  const child = await startServer(context, name, port, settings, false);
  const admin = new Redis({ host: HOST, port, password, retryStrategy: () => 50, maxRetriesPerRequest: null });
  admin.on('error', () => {});
  const member: Member = {
    ports,
    process: child,
    admin,
    kill: (signal) =>
      new Promise((resolve) => {
        member.process.once('exit', () => resolve());
        member.process.kill(signal);
      }),
    async restart() {
      member.process = await startServer(context, name, port, undefined, false);
    },
  };
  return member;
}

async function startSentinel(context: Context, n: number, masterPort: number, certificates: string | undefined) {
  const [port, tlsPort] = await Promise.all([freePort(), freePort()]);
  const settings = [
    `port ${port}`,
    ...replicationTls(tlsPort, certificates),
    `sentinel monitor mymaster ${HOST} ${masterPort} 2`,
    `sentinel auth-pass mymaster ${context.password}`,
    `sentinel down-after-milliseconds mymaster ${NODE_TIMEOUT_MS}`,
    'sentinel failover-timeout mymaster 3000',
  ];
  const process = await startServer(context, `sentinel-${n}`, port, settings, true);
  return { port: certificates === undefined ? port : tlsPort, process };
}

/** Servers write to their own configuration, so a server that starts again keeps it. */
async function startServer(
  { dataDir, registry, program, password }: Context,
  name: string,
  port: number,
  settings: string[] | undefined,
  isSentinel: boolean,
): Promise<ChildProcess> {
  const folder = join(dataDir, name);
  const configFile = join(folder, 'server.conf');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (settings !== undefined) {
    const all = [`bind ${HOST}`, `dir ${JSON.stringify(folder)}`, ...settings];
    writeFileSync(configFile, `${all.join('\n')}\n`, { mode: 0o600 });
  }
  const logFile = join(dataDir, `${name}.log`);
  const args = [configFile, ...(isSentinel ? ['--sentinel'] : [])];
  const child = registry.start(name, redisServer(program, folder), args, { logFile });
  await untilReady(child, logFile, () => pingRedis(port, isSentinel ? undefined : password));
  return child;
}
