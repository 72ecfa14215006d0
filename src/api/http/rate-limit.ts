import type { Context, Next } from 'koa';
import type { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { redisKeys } from '../../redis/keys.ts';
import { httpError } from './errors.ts';
import { describeError, type Log } from '../../log.ts';

const WINDOW_SECONDS = 60;

export interface RateLimitOptions {
  /** Name of the policy, in headers and keys. */
  name: string;
  /** Requests of one caller a minute; 0 = no limit. */
  perMinute: number;
  keyOf: (ctx: Context) => string;
  redis: Redis;
  prefix: string;
  log: Log;
}

/**
 * Limits requests of one caller over all pods, and reports the state in `RateLimit` and `RateLimit-Policy`
 * (draft-ietf-httpapi-ratelimit-headers-10). Without Redis every request passes: the limit protects the service, and
 * must not add to an outage of Redis.
 */
export function rateLimit({ name, perMinute, keyOf, redis, prefix, log }: RateLimitOptions) {
  if (perMinute === 0) return (_ctx: Context, next: Next): Promise<unknown> => next();
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: redisKeys(prefix).rateLimit(name),
    points: perMinute,
    duration: WINDOW_SECONDS,
  });

  return async (ctx: Context, next: Next): Promise<unknown> => {
    const state = await consume(keyOf(ctx));
    if (state === undefined) return next();
    const resetSeconds = Math.max(1, Math.ceil(state.msBeforeNext / 1000));
    ctx.set('RateLimit-Policy', `"${name}";q=${perMinute};w=${WINDOW_SECONDS}`);
    ctx.set('RateLimit', `"${name}";r=${Math.max(0, state.remainingPoints)};t=${resetSeconds}`);
    if (state.consumedPoints <= perMinute) return next();
    throw httpError(429, `More than ${perMinute} requests in a minute; try again in ${resetSeconds} s`, {
      headers: { 'Retry-After': String(resetSeconds) },
    });
  };

  /** The caller's window after this request, over its limit or not; undefined when Redis is unreachable. */
  async function consume(key: string): Promise<RateLimiterRes | undefined> {
    try {
      return await limiter.consume(key);
    } catch (error) {
      if (error instanceof RateLimiterRes) return error;
      log.warn({ limit: name, error: describeError(error) }, 'Rate limit not applied: Redis is unreachable');
      return undefined;
    }
  }
}
