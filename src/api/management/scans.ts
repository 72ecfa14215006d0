import type { Context } from 'koa';
import type { Redis } from 'ioredis';
import pLimit from 'p-limit';
import { holderOf } from '../../domain/share.ts';
import { describeError, type Log } from '../../log.ts';
import { redisKeys } from '../../redis/keys.ts';
import { takeLease } from '../../redis/lease.ts';
import { principal } from '../auth/token.ts';
import { SenderGone } from '../http/body.ts';
import { httpError, RETRY_AFTER_SECONDS, unavailable } from '../http/errors.ts';

/* A scan keeps a core of the database busy: beside two at once captures and lists took twice their time and more. */
const AT_ONCE = 1;
const WAITING = 5;

/** Longer than a route may take: a process that dies leaves its user's lease for this time. */
const LEASE_MS = 20_000;

export interface ScanLimitOptions {
  redis: Redis;
  prefix: string;
  log: Log;
}

/**
 * Runs one scan of a user at a time over all processes, and one at a time in this one; `signal` aborts when the client
 * has disconnected. Without Redis the limit of a user is that of the process.
 * @throws HttpError 429 while another scan of the user runs, 503 while too many wait; SenderGone
 */
export type LimitScan = <T>(ctx: Context, scan: (signal: AbortSignal) => Promise<T>) => Promise<T>;

export function createScanLimit({ redis, prefix, log }: ScanLimitOptions): LimitScan {
  const limit = pLimit(AT_ONCE);
  const users = new Set<string>();

  return async (ctx, scan) => {
    const userId = holderOf(principal(ctx));
    if (users.has(userId)) throw alreadyRunning();
    if (limit.pendingCount >= WAITING) throw unavailable('Too many searches are running; try again');
    users.add(userId);
    let release: (() => Promise<void>) | undefined;
    try {
      release = await leaseOf(userId);
      return await limit(() => whileConnected(ctx, scan));
    } finally {
      users.delete(userId);
      await release?.();
    }
  };

  async function leaseOf(userId: string): Promise<(() => Promise<void>) | undefined> {
    let release: (() => Promise<void>) | undefined;
    try {
      release = await takeLease(redis, redisKeys(prefix).scanLease(userId), LEASE_MS);
    } catch (error) {
      log.warn({ error: describeError(error) }, 'Scans limited by process alone: Redis is unreachable');
      return undefined;
    }
    if (release === undefined) throw alreadyRunning();
    return release;
  }
}

async function whileConnected<T>(ctx: Context, scan: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (ctx.res.closed) throw new SenderGone();
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  ctx.res.once('close', abort);
  try {
    return await scan(controller.signal);
  } finally {
    ctx.res.off('close', abort);
  }
}

function alreadyRunning(): Error {
  return httpError(429, 'Another search of yours is running; wait for its answer', {
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  });
}
