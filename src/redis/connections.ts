import { isIP } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import type { RedisConfig } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';

/**
 * What a connection is for decides how it behaves while Redis is away:
 * - `producer` enqueues captures: fails at once or after 1.2 s, so that a sender hears 503 in time;
 *   nothing is sent again by itself, because a refused capture must not appear later.
 * - `bulk` does so for large captures: a connection of their own, because small ones must not wait behind them.
 * - `cache` looks endpoints up and counts captures: the same, with less patience, as both come before the enqueuing.
 * - `live` is what the API's Socket.IO publishes by, if it ever does: it fails fast too, because it holds up local
 * delivery.
 * - `subscriber` and `worker` wait for Redis to come back, however long it takes.
 * A connection whose other end vanished without a word is given up after its socket time-out.
 */
export type RedisRole = 'producer' | 'bulk' | 'cache' | 'live' | 'subscriber' | 'worker';

const FAIL_FAST = { enableOfflineQueue: false, maxRetriesPerRequest: 1, autoResendUnfulfilledCommands: false } as const;

const ROLE_OPTIONS: Record<RedisRole, RedisOptions> = {
  producer: { ...FAIL_FAST, commandTimeout: 1_200, socketTimeout: 3_000, enableAutoPipelining: true },
  bulk: { ...FAIL_FAST, commandTimeout: 1_200, socketTimeout: 3_000 },
  cache: { ...FAIL_FAST, commandTimeout: 400, socketTimeout: 3_000, enableAutoPipelining: true },
  live: { ...FAIL_FAST, commandTimeout: 500, socketTimeout: 3_000 },
  subscriber: { maxRetriesPerRequest: null },
  // Longer than BullMQ's blocking reads.
  worker: { maxRetriesPerRequest: null, socketTimeout: 30_000 },
};

const ANSWER_MS = 1_000;

/** Connections of a store that lost it: of all of them the log hears once an outage. */
const lost = new WeakMap<RedisConfig, Set<Redis>>();

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
  const down = lost.get(config) ?? new Set();
  lost.set(config, down);
  redis.on('error', (error: Error) => {
    if (down.size === 0) log.warn({ redis: role, error: describeError(error) }, 'Redis is not reachable; reconnecting');
    down.add(redis);
  });
  redis.on('ready', () => {
    if (down.delete(redis) && down.size === 0) log.info('Redis is back');
  });
  redis.on('end', () => down.delete(redis));
}

const LOST_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Whether a connection was lost or could not be made, of which `openRedis` tells the log once an outage. */
export function isLost(error: Error & { code?: string }): boolean {
  return LOST_CODES.has(error.code ?? '') || /^(Connection is closed|Socket timeout)\./.test(error.message);
}

/** An address is no server name, and Node throws where it is given for one. */
export function tlsOptions({ tls, host }: Pick<RedisConfig, 'tls' | 'host'>): Pick<RedisOptions, 'tls'> {
  return tls ? { tls: isIP(host) === 0 ? { servername: host } : {} } : {};
}

/**
 * Whether a command certainly did nothing: Redis answered with an error, or it was never sent.
 * After a time-out or a lost connection nobody knows.
 */
export function wasRefused(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ReplyError' || error.message.startsWith("Stream isn't writeable"));
}

/** Whether Redis does not let us use a command at all: an ACL, or a command that was renamed away or disabled. */
export function isForbidden(error: unknown): boolean {
  return error instanceof Error && /unknown command|NOPERM|not allowed|disabled/i.test(error.message);
}

/**
 * Whether Redis is there. Without it a worker can hand nothing back, and its jobs are taken over when their locks end.
 */
export async function answers(redis: Redis): Promise<boolean> {
  return withDeadline(ANSWER_MS, redis.ping()).then(
    () => true,
    () => false,
  );
}

/** Closes without waiting for a Redis that may be away. */
export function closeRedis(redis: Redis): void {
  redis.disconnect();
}
