import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { poll } from '../poll.ts';

/** A holder that died is replaced after at most the sum of the first two. */
const TTL_MS = 10_000;
const RENEW_MS = 3_000;
const ANSWER_MS = 2_000;

/**
 * Makes the lease ours, or longer; a lost answer is made good by the next call. KEYS: lease. ARGV: token, milliseconds.
 */
const HOLD = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`;

/** Never deletes what somebody else holds by now. KEYS: lease. ARGV: token. */
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** Something that at most one process holds at a time. */
export interface Lease {
  held(): boolean;
  /** Lets go, so that another one has it within seconds. */
  release(): Promise<void>;
}

/** Tries to get and to keep a lease until it is released; while Redis is away nobody holds it. */
export function holdLease(redis: Redis, key: string): Lease {
  const token = randomUUID();
  let heldUntil = 0;
  const renewing = poll(async () => {
    // Counted from before the question, so that it ends here before it ends in Redis.
    const end = performance.now() + TTL_MS;
    const answer = await ask(HOLD, token, TTL_MS).catch(() => undefined);
    if (answer === 1) heldUntil = end;
    if (answer === 0) heldUntil = 0;
    return RENEW_MS;
  });

  function ask(script: string, ...args: (string | number)[]): Promise<unknown> {
    return withDeadline(ANSWER_MS, redis.eval(script, 1, key, ...args));
  }

  return {
    held: () => performance.now() < heldUntil,
    async release() {
      await renewing.stop();
      heldUntil = 0;
      await ask(RELEASE, token).catch(() => {});
    },
  };
}
