import type { Redis } from 'ioredis';

/** Shorter than the time-out of a command of the producer, and long for a replica that follows. */
const CONFIRM_MS = 1_000;

/** Too few replicas have confirmed a write in time: a failover may undo it, or may not. */
export class NotReplicated extends Error {}

/**
 * Makes a write, and waits until replicas have it, too: whichever the Sentinels or the cluster promote of them has it.
 * A replica with `appendfsync always` confirms what is on its disk.
 * @throws the error of the write; NotReplicated
 */
export async function replicated<T>(redis: Redis, replicas: number, write: () => Promise<T>): Promise<T> {
  if (replicas === 0) return write();
  const { stream } = redis;
  const result = await write();
  // WAIT is about the writes of its own connection: on a later one, perhaps to another master, it tells nothing.
  if (redis.stream !== stream) throw new NotReplicated('the connection was lost before replicas confirmed');
  const confirmed = await redis.wait(replicas, CONFIRM_MS);
  if (confirmed < replicas) throw new NotReplicated(`${confirmed} of ${replicas} replicas confirmed in time`);
  return result;
}
