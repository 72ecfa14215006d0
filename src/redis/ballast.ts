import type { Redis } from 'ioredis';
import { describeError, type Log } from '../log.ts';
import { poll, type Poll } from '../poll.ts';
import { redisKeys } from './keys.ts';
import { readMemory } from './memory.ts';

const CHECK_MS = 1_000;

/** Share of `maxmemory` that the ballast takes: room for some thousand job completions. */
const BALLAST_SHARE = 0.05;
const BALLAST_MAX_BYTES = 32 * 1024 * 1024;

/** Redis refuses commands a little below its limit, because their own buffers count as well. */
const FREE_ABOVE = 0.98;

/** Below this, ballast included, there is room for it; the API accepts captures again below about the same mark. */
const SET_BELOW = 0.7;

/**
 * Keeps a string in Redis that is there to be deleted. A Redis at its `maxmemory` refuses the commands by which workers
 * fetch jobs, so it could never be drained; DEL is never refused, and frees the memory to start with. All workers share
 * one string; `share` is the part of one of several. Resolves after the first check, so that a worker can start on a full Redis.
 */
export async function startBallast(redis: Redis, prefix: string, log: Log, share = 1): Promise<Poll> {
  const key = redisKeys(prefix).ballast;

  async function check(): Promise<number> {
    try {
      await adjust();
    } catch (error) {
      // Redis is unreachable, or was filled in the meantime; the next check handles both.
      log.debug({ error: describeError(error) }, 'The ballast could not be checked');
    }
    return CHECK_MS;
  }

  async function adjust(): Promise<void> {
    const { used, max } = await readMemory(redis);
    if (max === 0) return;
    if (used > FREE_ABOVE * max) {
      if ((await redis.del(key)) > 0)
        log.warn({ used, max }, 'Redis is full: freed the ballast, so that workers can drain it');
      return;
    }
    const wanted = Math.min(Math.floor(BALLAST_SHARE * share * max), BALLAST_MAX_BYTES);
    const size = await redis.strlen(key);
    if (size === wanted || used - size + wanted > SET_BELOW * max) return;
    await redis.del(key);
    // Redis fills the bytes before the offset with zeros, so this is one byte on the wire and in its log.
    await redis.setrange(key, wanted - 1, '\0');
    log.info({ bytes: wanted }, 'Set the ballast in Redis');
  }

  await check();
  return poll(check);
}
