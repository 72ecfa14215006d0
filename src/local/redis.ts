import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisConfig } from '../config.ts';
import { freePort, HOST, privateServer, untilReady, type PrivateServer } from './private-server.ts';
import type { ProcessRegistry } from './processes.ts';
import type { Programs } from './programs.ts';

/** Each write is on disk before its answer. */
export const DURABLE_SETTINGS = [
  'appendonly yes',
  'appendfsync always',
  'no-appendfsync-on-rewrite no',
  'maxmemory-policy noeviction',
  'save ""',
];

/**
 * Starts Redis or Valkey on `<dataDir>/redis`, on loopback only; each write is on disk before its answer.
 * @throws Error with the end of the server's log when it does not start
 */
export async function startRedis(
  programs: Programs,
  registry: ProcessRegistry,
  dataDir: string,
  password: string,
  port?: number,
): Promise<PrivateServer<RedisConfig>> {
  const folder = join(dataDir, 'redis');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const config = privateRedisConfig(port ?? (await freePort()), password);
  const configFile = join(dataDir, 'redis.conf');
  const settings = [
    `bind ${HOST}`,
    `port ${config.port}`,
    `dir ${JSON.stringify(folder)}`,
    `requirepass ${password}`,
    ...DURABLE_SETTINGS,
  ];
  writeFileSync(configFile, `${settings.join('\n')}\n`, { mode: 0o600 });
  const logFile = join(dataDir, 'redis.log');
  const child = registry.start('redis', redisServer(programs.redis, dataDir), [configFile], { logFile });
  await untilReady(child, logFile, () => pingRedis(config.port, password));
  return privateServer(config, child);
}

/** How to connect to a single Redis on loopback. */
export function privateRedisConfig(port: number, password: string): RedisConfig {
  return {
    host: HOST,
    port,
    username: undefined,
    password,
    db: 0,
    tls: false,
    prefix: 'hookbay',
    cluster: [],
    sentinel: undefined,
    shards: 1,
    waitReplicas: 0,
  };
}

/** @throws when the server on this port of loopback does not answer now */
export async function pingRedis(port: number, password?: string): Promise<void> {
  const redis = new Redis({
    host: HOST,
    port,
    ...(password !== undefined && { password }),
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  redis.on('error', () => {});
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}

/**
 * Debian's redis-tools has the server under another name; started by a server's name, it is one.
 * @param dataDir where the other name is made, if one is needed
 */
export function redisServer(program: string, dataDir: string): string {
  const name = basename(program).replace('-check-rdb', '-server');
  if (name === basename(program)) return program;
  const alias = join(dataDir, name);
  rmSync(alias, { force: true });
  symlinkSync(program, alias);
  return alias;
}
