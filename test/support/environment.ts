import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import { startApi, type RunningApi } from '../../src/api/start.ts';
import { readConfig, type Config, type MysqlConfig, type RedisConfig } from '../../src/config.ts';
import { connectionOptions } from '../../src/local/mysql.ts';
import { createLog } from '../../src/log.ts';
import {
  CAPTURE_QUEUES,
  openCaptureQueues,
  type CaptureQueue,
  type CaptureQueues,
} from '../../src/queue/capture-queue.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { openShards, shardPrefixes } from '../../src/redis/shards.ts';
import { createResources, type Resources } from '../../src/resources.ts';
import { openDatabase, type Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrations.ts';
import { startWorkerProcess } from '../../src/worker/start.ts';

export const JWT_SECRET = 'test-secret-test-secret-test-secret-test';

/** A database and a Redis prefix for one test file, with the real schema. */
export interface Environment {
  /** Settings as variables, for processes. */
  env: Record<string, string>;
  config: Config;
  db: Database;
  /** Those of the first shard. */
  queues: CaptureQueues;
  /** The queue of small captures. */
  queue: CaptureQueue;
  redis: Redis;
  resources: Resources;
  /** An API in this process on a free port; `url` is its address. */
  startApi(extra?: Record<string, string>): Promise<RunningApi & { url: string; stop(): Promise<void> }>;
  /** A worker in this process. */
  startWorker(extra?: Record<string, string>): Promise<{ internalPort: number; stop(): Promise<void> }>;
  /** Resolves when the queue is empty. */
  drained(): Promise<void>;
  close(): Promise<void>;
}

/** `servers`: those of the test run by default; a test that stops them passes its own. */
export async function openEnvironment(
  servers: { mysql: MysqlConfig; redis: RedisConfig } = { mysql: inject('mysql'), redis: inject('redis') },
): Promise<Environment> {
  const name = `hookbay_${randomBytes(6).toString('hex')}`;
  const admin = await createConnection(connectionOptions(servers.mysql));
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();

  const env = environmentVariables({ ...servers.mysql, database: name }, { ...servers.redis, prefix: name });
  const config = readConfig(env, 'api');
  const log = createLog(env['LOG_LEVEL'] ?? 'silent');
  const resources = createResources((error) => process.stderr.write(`closing: ${String(error)}\n`));
  const db = resources.add(openDatabase(config.mysql, { joinedStatements: true }), (database) => database.close());
  await migrate(db);
  const redis = resources.add(openRedis(config.redis, 'worker', log), closeRedis);
  const shards =
    config.redis.cluster.length > 0
      ? openShards(config.redis, 'worker', resources, log)
      : shardPrefixes(config.redis.prefix, config.redis.shards).map((prefix) => ({ prefix, redis }));
  const queuesOfShards = shards.map((shard) => openCaptureQueues(shard.redis, shard.prefix));
  const [queues] = queuesOfShards as [CaptureQueues];

  async function inProcess<T>(
    start: (config: Config, resources: Resources) => Promise<T>,
    extra: Record<string, string>,
  ) {
    const own = createResources((error) => process.stderr.write(`closing: ${String(error)}\n`));
    const started = await start(readConfig({ ...env, ...extra }, 'api'), own);
    const stop = (): Promise<void> => own.close();
    resources.add(stop, (close) => close());
    return { ...started, stop };
  }

  return {
    env,
    config,
    db,
    redis,
    queues,
    queue: queues.capture,
    resources,
    async startApi(extra = {}) {
      const api = await inProcess((settings, own) => startApi(settings, own, log), {
        PORT: '0',
        ...extra,
        INTERNAL_PORT: '0',
      });
      await ready(api.internalPort);
      return { ...api, url: `http://127.0.0.1:${api.port}` };
    },
    startWorker: (extra = {}) =>
      inProcess((settings, own) => startWorkerProcess(settings, own, log), { ...extra, INTERNAL_PORT: '0' }),
    drained: () =>
      eventually(async () => {
        const counts = await Promise.all(
          queuesOfShards.flatMap((open) =>
            CAPTURE_QUEUES.map((name) => open[name].getJobCountByTypes('wait', 'active', 'delayed')),
          ),
        );
        return counts.every((count) => count === 0);
      }),
    async close() {
      await resources.close();
      const connection = await createConnection(connectionOptions(servers.mysql));
      await connection.query(`DROP DATABASE ${name}`);
      await connection.end();
    },
  };
}

/** Opens an environment before the tests of a file, hands it to `begin`, and closes it after them. */
export function useEnvironment(begin: (environment: Environment) => Promise<void> | void): void {
  let environment: Environment | undefined;
  beforeAll(async () => {
    environment = await openEnvironment();
    await begin(environment);
  });
  afterAll(() => environment?.close());
}

export function environmentVariables(mysql: MysqlConfig, redis: RedisConfig): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    BASE_URL: 'https://hooks.example.com',
    MYSQL_HOST: mysql.host,
    MYSQL_PORT: String(mysql.port),
    MYSQL_USER: mysql.user,
    MYSQL_PASSWORD: mysql.password,
    MYSQL_DATABASE: mysql.database,
    ...redisAddress(redis),
    REDIS_PASSWORD: redis.password ?? '',
    REDIS_PREFIX: redis.prefix,
    REDIS_TLS: String(redis.tls),
    CAPTURE_QUEUE_SHARDS: String(redis.shards),
    REDIS_WAIT_REPLICAS: String(redis.waitReplicas),
    JWT_SECRET,
    // Tests send more requests than users do; tests of the limits set their own.
    API_RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent',
  };
}

function redisAddress({ host, port, cluster, sentinel }: RedisConfig): Record<string, string> {
  const list = (servers: readonly { host: string; port: number }[]): string =>
    servers.map((server) => `${server.host}:${server.port}`).join(',');
  if (cluster.length > 0) return { REDIS_CLUSTER_NODES: list(cluster) };
  if (sentinel !== undefined) return { REDIS_SENTINELS: list(sentinel.servers), REDIS_SENTINEL_NAME: sentinel.name };
  return { REDIS_HOST: host, REDIS_PORT: String(port) };
}

/** Waits until the process behind an internal port is ready. */
export async function ready(internalPort: number): Promise<void> {
  await eventually(async () => (await fetch(`http://127.0.0.1:${internalPort}/readyz`)).ok);
}

/** Waits until a condition holds; an error means "not yet". */
export async function eventually(condition: () => Promise<boolean> | boolean, timeoutMs = 60_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown = 'it was false';
  while (performance.now() < deadline) {
    try {
      if (await condition()) return;
      last = 'it was false';
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the condition did not hold within ${timeoutMs} ms: ${String(last)}`, { cause: last });
}

/** Closes something after the running test, whatever its outcome. */
export function closing<T>(resource: T, close: (resource: T) => Promise<void> | void): T {
  onTestFinished(() => close(resource));
  return resource;
}
