import {
  boolean,
  integer,
  REDIS_PREFIX,
  REDIS_URL,
  serverList,
  text,
  type Get,
  type RedisAddress,
  type ServerAddress,
} from './environment.ts';

export interface RedisConfig extends RedisAddress {
  /** Namespace of every key, so that several installations can share one Redis. */
  prefix: string;
  /** Some nodes of a Redis Cluster, in place of host and port; empty = it is none. */
  cluster: readonly ServerAddress[];
  /** Sentinels, which name the master in place of host and port. */
  sentinel: SentinelConfig | undefined;
  /** Shards of the capture queues and daily counts; a user belongs to one. */
  shards: number;
  /** Replicas that confirm a batch before its receipts are sent. */
  waitReplicas: number;
}

export interface SentinelConfig {
  servers: readonly ServerAddress[];
  /** What the Sentinels call the master. */
  name: string;
  username: string | undefined;
  password: string | undefined;
  tls: boolean;
}

export const MAX_SHARDS = 64;

export function readRedis(get: Get): RedisConfig {
  const url = get(REDIS_URL, undefined);
  const tls = url?.tls ?? get(boolean('REDIS_TLS'), false);
  return {
    host: url?.host ?? get(text('REDIS_HOST', 'a host name'), '127.0.0.1'),
    port: url?.port ?? get(integer('REDIS_PORT', 1, 65_535), 6379),
    username: url ? url.username : get<string | undefined>(text('REDIS_USERNAME', 'a user name'), undefined),
    password: url ? url.password : get<string | undefined>(text('REDIS_PASSWORD', 'a password'), undefined),
    db: url?.db ?? get(integer('REDIS_DB', 0, 1_000_000), 0),
    tls,
    prefix: get(REDIS_PREFIX, 'hookbay'),
    cluster: get(serverList('REDIS_CLUSTER_NODES', 6379), []),
    sentinel: readSentinel(get, tls),
    shards: get(integer('CAPTURE_QUEUE_SHARDS', 1, MAX_SHARDS), 1),
    waitReplicas: get(integer('REDIS_WAIT_REPLICAS', 0, 10), 0),
  };
}

function readSentinel(get: Get, tls: boolean): SentinelConfig | undefined {
  const servers = get(serverList('REDIS_SENTINELS', 26_379), []);
  if (servers.length === 0) return undefined;
  return {
    servers,
    name: get(text('REDIS_SENTINEL_NAME', "the Sentinels' name of the master"), 'mymaster'),
    username: get<string | undefined>(text('REDIS_SENTINEL_USERNAME', 'a user name'), undefined),
    password: get<string | undefined>(text('REDIS_SENTINEL_PASSWORD', 'a password'), undefined),
    tls: get(boolean('REDIS_SENTINEL_TLS'), tls),
  };
}

/** One way to the server, so that it is clear which; `npm start` knows the first two. */
export function redisProblems(
  env: Record<string, string | undefined>,
  { cluster, db }: RedisConfig,
  isLocal: boolean,
): string[] {
  const ways = ['REDIS_URL', 'REDIS_HOST', 'REDIS_CLUSTER_NODES', 'REDIS_SENTINELS'].filter((name) => env[name]);
  const isList = ways.some((name) => name === 'REDIS_CLUSTER_NODES' || name === 'REDIS_SENTINELS');
  return [
    ...(isList && ways.length > 1 ? [`${ways.join(' and ')} exclude each other`] : []),
    ...(isList && isLocal ? ['npm start takes REDIS_URL alone: one Redis'] : []),
    ...(cluster.length > 0 && db !== 0 ? ['REDIS_DB must be 0 with REDIS_CLUSTER_NODES'] : []),
  ];
}
