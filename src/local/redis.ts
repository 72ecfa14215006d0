import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisConfig } from '../config.ts';
import { freePort, HOST, privateServer, untilReady, type PrivateServer } from './private-server.ts';
import type { ProcessRegistry } from './processes.ts';
import type { Programs } from './programs.ts';

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
  const config: RedisConfig = {
    host: HOST,
    port: port ?? (await freePort()),
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
  const configFile = join(dataDir, 'redis.conf');
  const settings = [
    `bind ${HOST}`,
    `port ${config.port}`,
    `dir ${JSON.stringify(folder)}`,
    `requirepass ${password}`,
    'appendonly yes',
    'appendfsync always',
    'no-appendfsync-on-rewrite no',
    'maxmemory-policy noeviction',
    'save ""',
  ];
  writeFileSync(configFile, `${settings.join('\n')}\n`, { mode: 0o600 });
  const logFile = join(dataDir, 'redis.log');
  const child = registry.start('redis', redisServer(programs.redis, dataDir), [configFile], { logFile });
  await untilReady(child, logFile, async () => {
    const redis = new Redis({
      host: HOST,
      port: config.port,
      password,
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
  });
  return privateServer(config, child);
}

/** Debian's redis-tools has the server under another name; started by a server's name, it is one. */
function redisServer(program: string, dataDir: string): string {
  const name = basename(program).replace('-check-rdb', '-server');
  if (name === basename(program)) return program;
  const alias = join(dataDir, name);
  rmSync(alias, { force: true });
  symlinkSync(program, alias);
  return alias;
}
