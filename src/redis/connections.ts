import { isIP } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import type { RedisConfig } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';

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

/** Opens a connection that reconnects without end; an outage is logged once for all that have this `config`. */
export function openRedis(config: RedisConfig, role: RedisRole, log: Log): Redis {
  const options: RedisOptions = {
    ...ROLE_OPTIONS[role],
    host: config.host,
    port: config.port,
    db: config.db,
    connectionName: `hookbay-${role}`,
    connectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(50 * attempt, 1_000),
  };
  if (config.username !== undefined) options.username = config.username;
  if (config.password !== undefined) options.password = config.password;
  Object.assign(options, tlsOptions(config));
  const redis = new Redis({ ...options, replyMapping: 'legacy' });
  logOutages(redis, role, config, log);
  return redis;
}

function logOutages(redis: Redis, role: RedisRole, config: RedisConfig, log: Log): void {
  const down = disconnected.get(config) ?? new Set();
  disconnected.set(config, down);
  redis.on('error', (error: Error) => {
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

/** Node throws where an IP address is given as a server name. */
export function tlsOptions({ tls, host }: Pick<RedisConfig, 'tls' | 'host'>): Pick<RedisOptions, 'tls'> {
  return tls ? { tls: isIP(host) === 0 ? { servername: host } : {} } : {};
}

/** Whether a command certainly had no effect; after a time-out or a lost connection the outcome is unknown. */
export function wasRefused(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ReplyError' || error.message.startsWith("Stream isn't writeable"));
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
