import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { poll } from '../poll.ts';

/** A holder that died is replaced after at most the sum of the first two. */
const TTL_MS = 10_000;
const RENEW_MS = 3_000;
const ANSWER_MS = 2_000;

/** A lost answer is repaired by the next call. KEYS: lease. ARGV: token, milliseconds. */
const HOLD = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`;

/** Deletes the lease only while the token is ours. KEYS: lease. ARGV: token. */
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

export interface Lease {
  held(): boolean;
  /** Releases the lease, so that another process acquires it within seconds. */
  release(): Promise<void>;
}

/** Acquires and renews a lease until it is released; while Redis is unreachable no process holds it. */
export function holdLease(redis: Redis, key: string): Lease {
  const token = randomUUID();
  let heldUntil = 0;
  const renewing = poll(async () => {
    // Measured from before the command, so that the lease ends here before it ends in Redis.
    const end = performance.now() + TTL_MS;
    const answer = await run(HOLD, token, TTL_MS).catch(() => undefined);
    if (answer === 1) heldUntil = end;
    if (answer === 0) heldUntil = 0;
    return RENEW_MS;
  });

  function run(script: string, ...args: (string | number)[]): Promise<unknown> {
    return withDeadline(ANSWER_MS, redis.eval(script, 1, key, ...args));
  }

  return {
    held: () => performance.now() < heldUntil,
    async release() {
      await renewing.stop();
      heldUntil = 0;
      await run(RELEASE, token).catch(() => {});
    },
  };
}

/**
 * Takes a lease that is not renewed and ends after `ttlMs`. Returns its release; undefined while another holds it.
 * @throws the error of Redis
 */
export async function takeLease(redis: Redis, key: string, ttlMs: number): Promise<(() => Promise<void>) | undefined> {
  const token = randomUUID();
  const taken = await withDeadline(ANSWER_MS, redis.set(key, token, 'PX', ttlMs, 'NX'));
  if (taken !== 'OK') return undefined;
  return async () => {
    await withDeadline(ANSWER_MS, redis.eval(RELEASE, 1, key, token)).catch(() => {});
  };
}
