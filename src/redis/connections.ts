import { Cluster, type Redis, type RedisOptions } from 'ioredis';
import type { RedisConfig } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';
import { MasterConnector, TlsConnector, type ConnectorConstructor } from './connectors.ts';
import { ReleasingRedis } from './releasing-redis.ts';
import { slotConnector } from './slot-connector.ts';
import { slotOf } from './slots.ts';

/**
 * The purpose of a connection determines its behaviour while Redis is unreachable:
 * - `producer` enqueues captures: it fails at once or after 1.2 s, so that a sender gets its 503 in time. Nothing is
 *   sent again automatically, because a refused capture must not appear later.
 * - `bulk` does so for large captures, on a connection of its own, because small ones must not wait behind them.
 * - `cache` looks up endpoints and counts captures: the same, with shorter time-outs, because both precede the
 *   enqueuing.
 * - `live` publishes for the API's Socket.IO: it also fails fast, because it would delay local delivery.
 * - `follower` subscribes to wake-ups: it fails fast, because readers who are not woken up look without.
 * - `subscriber` and `worker` wait for Redis without a limit.
 *
 * A connection whose peer vanished silently is closed after its socket time-out.
 */
export type RedisRole = 'producer' | 'bulk' | 'cache' | 'live' | 'follower' | 'subscriber' | 'worker';

const FAIL_FAST = { enableOfflineQueue: false, maxRetriesPerRequest: 1, autoResendUnfulfilledCommands: false } as const;

const ROLE_OPTIONS: Record<RedisRole, RedisOptions> = {
  producer: { ...FAIL_FAST, commandTimeout: 1_200, socketTimeout: 3_000 },
  bulk: { ...FAIL_FAST, commandTimeout: 1_200, socketTimeout: 3_000 },
  cache: { ...FAIL_FAST, commandTimeout: 400, socketTimeout: 3_000, enableAutoPipelining: true },
  live: { ...FAIL_FAST, commandTimeout: 500, socketTimeout: 3_000 },
  // Subscriptions change during an outage, so `wake-ups.ts` repeats those that are still needed.
  follower: { ...FAIL_FAST, autoResubscribe: false },
  subscriber: { maxRetriesPerRequest: null },
  // Longer than BullMQ's blocking reads.
  worker: { maxRetriesPerRequest: null, socketTimeout: 30_000 },
};

const ANSWER_MS = 1_000;

/** Lost connections by store: an outage is logged once for all of them. */
const disconnected = new WeakMap<RedisConfig, Set<Redis>>();

/**
 * Opens a connection that reconnects without end; an outage is logged once for all that have this `config`.
 * @param tag in a Redis Cluster: the connection is to the master of this hash tag, for its keys alone. Without a tag it
 * is for any key, each on the node of its slot.
 */
export function openRedis(config: RedisConfig, role: RedisRole, log: Log, tag?: string): Redis {
  const options: RedisOptions = {
    ...ROLE_OPTIONS[role],
    connectionName: `hookbay-${role}`,
    connectTimeout: 2_000,
  };
  if (config.username !== undefined) options.username = config.username;
  if (config.password !== undefined) options.password = config.password;
  const redis =
    config.cluster.length > 0 && tag === undefined
      ? openCluster(config, role, options)
      : new ReleasingRedis({
          ...options,
          ...addressOf(config, tag),
          retryStrategy: (attempt) => Math.min(50 * attempt, 1_000),
          // 2 = sends the command again.
          reconnectOnError: (error) => movedAway(error) && (isPatient(role) ? 2 : 1),
          replyMapping: 'legacy',
        });
  // A server that is no master of a slot any more ends the subscriptions to its channels, and leaves the connection open.
  if (config.cluster.length > 0 && tag !== undefined) {
    slotBound.add(redis);
    redis.on('moved', () => redis.disconnect(true));
  }
  logOutages(redis, role, config, log);
  return redis;
}

const OVER_TLS = { tls: {}, Connector: TlsConnector as ConnectorConstructor };

/** Where a connection leads, asked each time that it connects. */
function addressOf(config: RedisConfig, tag: string | undefined): RedisOptions {
  const { host, port, db, sentinel } = config;
  if (tag !== undefined && config.cluster.length > 0)
    return { ...(config.tls && { tls: {} }), Connector: slotConnector(config, slotOf(tag)) };
  if (sentinel === undefined) return { host, port, db, ...(config.tls && OVER_TLS) };
  return {
    ...(config.tls && { tls: {}, enableTLSForSentinelMode: true }),
    ...(sentinel.tls && { sentinelTLS: {} }),
    ...(sentinel.username !== undefined && { sentinelUsername: sentinel.username }),
    ...(sentinel.password !== undefined && { sentinelPassword: sentinel.password }),
    sentinels: sentinel.servers.map((server) => ({ ...server })),
    name: sentinel.name,
    sentinelCommandTimeout: 1_000,
    Connector: MasterConnector as ConnectorConstructor,
    db,
  };
}

/** Nothing is sent again automatically where commands have to fail in time, as with a single Redis. */
function openCluster(config: RedisConfig, role: RedisRole, redisOptions: RedisOptions): Redis {
  const patient = isPatient(role);
  const { enableAutoPipelining: _, ...nodeOptions } = redisOptions;
  const retryDelay = patient ? 100 : 0;
  const cluster = new Cluster([...config.cluster], {
    enableOfflineQueue: patient,
    retryDelayOnFailover: retryDelay,
    retryDelayOnClusterDown: retryDelay,
    retryDelayOnTryAgain: retryDelay,
    retryDelayOnMoved: retryDelay,
    maxRedirections: patient ? Number.MAX_SAFE_INTEGER : 4,
    clusterRetryStrategy: (attempt) => Math.min(50 * attempt, 1_000),
    slotsRefreshInterval: 5_000,
    // The names that the nodes announce, which their certificates have.
    dnsLookup: (name, done) => done(null, name),
    redisOptions: { ...nodeOptions, ...(config.tls && OVER_TLS), replyMapping: 'legacy' },
  });
  // A command to a node that is only just connecting would fail.
  cluster.on('+node', (node: Redis) => void (node.status === 'wait' && node.connect().catch(() => {})));
  cluster.on('node error', (error: Error) => {
    if (cluster.status !== 'ready' && error.message !== 'Connection is closed.') cluster.emit('error', error);
  });
  return cluster as unknown as Redis;
}

/** The connections to all masters; with a single Redis the connection itself. */
export function mastersOf(redis: Redis): Redis[] {
  return redis.isCluster ? (redis as unknown as Cluster).nodes('master') : [redis];
}

const slotBound = new WeakSet<Redis>();

/** Whether a connection is to the master of one slot of a Redis Cluster. */
export function isSlotBound(redis: Redis): boolean {
  return slotBound.has(redis);
}

function isPatient(role: RedisRole): boolean {
  return role === 'worker' || role === 'subscriber';
}

/** Whether a server has refused a command because another one is the master now, or none is. */
function movedAway(error: Error): boolean {
  return /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|UNBLOCKED) /.test(error.message);
}

function logOutages(redis: Redis, role: RedisRole, config: RedisConfig, log: Log): void {
  const down = disconnected.get(config) ?? new Set();
  disconnected.set(config, down);
  redis.on('error', (error: Error) => {
    // Of a Redis Cluster: it does not say why, and the errors of its nodes do.
    if ('lastNodeError' in error) return;
    if (down.size === 0) log.warn({ redis: role, error: describeError(error) }, 'Redis is not reachable; reconnecting');
    down.add(redis);
  });
  redis.on('ready', () => {
    if (down.delete(redis) && down.size === 0) log.info('Redis is back');
  });
  redis.on('end', () => down.delete(redis));
}

const CONNECTION_ERROR_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Whether a connection was lost or could not be opened; `openRedis` logs that once an outage. */
export function isConnectionError(error: Error & { code?: string }): boolean {
  return CONNECTION_ERROR_CODES.has(error.code ?? '') || /^(Connection is closed|Socket timeout)\./.test(error.message);
}

/** Whether a command certainly had no effect; after a time-out or a lost connection the outcome is unknown. */
export function wasRefused(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ReplyError' || /^(?:Stream|Cluster) isn't /.test(error.message));
}

/** Whether Redis forbids a command: by an ACL, or because it was renamed or disabled. */
export function isForbidden(error: unknown): boolean {
  return error instanceof Error && /unknown command|NOPERM|not allowed|disabled/i.test(error.message);
}

/** Without Redis a worker can return no jobs; other workers take them when their locks expire. */
export async function isReachable(redis: Redis): Promise<boolean> {
  return withDeadline(ANSWER_MS, redis.ping()).then(
    () => true,
    () => false,
  );
}

/** Closes without waiting for an unreachable Redis. */
export function closeRedis(redis: Redis): void {
  redis.disconnect();
}
