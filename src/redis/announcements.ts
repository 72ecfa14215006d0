import type { Redis } from 'ioredis';
import { redisKeys } from './keys.ts';

/** Longer than a look-up that began before the delete can take to write its stale result. */
const TOMBSTONE_SECONDS = 3_600;
const TOMBSTONE = 'deleted';

/** Notifies all pods that values in Redis have changed. Earlier versions drop all copies, whatever the message. */
export async function announce(redis: Redis, prefix: string, keys: readonly string[]): Promise<void> {
  await redis.publish(redisKeys(prefix).announcements, JSON.stringify(keys));
}

/** Undefined for an announcement of an earlier version, which names no keys: any value may have changed. */
export function announcedKeys(message: string): string[] | undefined {
  if (!message.startsWith('[')) return undefined;
  try {
    return JSON.parse(message) as string[];
  } catch {
    return undefined;
  }
}

export interface Stop {
  mark?: string;
  seconds?: number;
}

/** To be called before the row is removed. Returns whether this call stopped them. */
export async function stopCaptures(
  redis: Redis,
  prefix: string,
  endpointId: string,
  stop: Stop = {},
): Promise<boolean> {
  const key = redisKeys(prefix).endpoint(endpointId);
  const tombstone = stop.mark === undefined ? TOMBSTONE : `${TOMBSTONE}:${stop.mark}`;
  const before = await redis.set(key, tombstone, 'EX', stop.seconds ?? TOMBSTONE_SECONDS, 'GET');
  await announce(redis, prefix, [key]);
  return before !== null && !isTombstone(before);
}

export function isTombstone(value: string): boolean {
  return value.startsWith(TOMBSTONE);
}
