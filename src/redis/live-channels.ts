import { createShardedAdapter } from '@socket.io/redis-adapter';
import type { Redis } from 'ioredis';
import { describeError, type Log } from '../log.ts';
import { isSlotBound } from './connections.ts';
import { redisKeys } from './keys.ts';
import { watchListening, type Listening } from './listening.ts';

type LiveAdapter = ReturnType<typeof createShardedAdapter>;

const HEARTBEAT_MS = 5_000;
const HEARTBEAT_TIMEOUT_MS = 3_000;

/** Each room has a Redis channel, to which only processes with its members subscribe. */
export function liveAdapter(publisher: Redis, subscriber: Redis, prefix: string): LiveAdapter {
  return createShardedAdapter(publisher, subscriber, { channelPrefix: redisKeys(prefix).live });
}

/**
 * The adapter of a process without sockets. It subscribes to nothing: the adapter does not handle the rejections of a
 * Redis that forbids that or is unreachable at shutdown, and they would end the process.
 * @param publish called for SPUBLISH
 */
export function publishingAdapter(
  publish: (channel: string, message: string | Buffer) => Promise<unknown>,
  prefix: string,
): LiveAdapter {
  const noSubscriber = { on() {}, ssubscribe() {}, sunsubscribe() {} };
  return createShardedAdapter({ spublish: publish }, noSubscriber, { channelPrefix: redisKeys(prefix).live });
}

/** Those of the channels to which any process subscribes. */
export async function watchedChannels(redis: Redis, channels: readonly string[]): Promise<Set<string>> {
  const [first] = channels;
  // A replica knows other subscribers than its master, and refuses only commands for keys: then the connection moves.
  if (isSlotBound(redis) && first !== undefined) await redis.exists(first);
  const reply = (await redis.call('PUBSUB', 'SHARDNUMSUB', ...channels)) as (string | number)[];
  // Channels and their numbers of subscribers in turn, in the order of the request.
  return new Set(channels.filter((_channel, i) => Number(reply[2 * i + 1]) > 0));
}

/** The channel of a room in this version of the adapter. */
export function roomChannel(prefix: string, room: string): string {
  return `${redisKeys(prefix).live}#/#${room}#`;
}

/**
 * Watches the connection of live events. Events that are published while it is down are lost to this process, so
 * `onInterrupted` has to make clients reconnect and catch up. The channel is our own: nothing is published on it.
 */
export function watchSubscriber(subscriber: Redis, prefix: string, log: Log, onInterrupted: () => void): Listening {
  let stopped = false;
  catchRejections(
    subscriber,
    (error) =>
      stopped ||
      log.error(
        { error: describeError(error) },
        'Cannot subscribe to live events; Redis 7 or later is needed, and its ACL has to allow ssubscribe on our prefix',
      ),
  );
  const listening = watchListening({
    subscriber,
    listen: () => subscriber.ssubscribe(`${redisKeys(prefix).live}#listening`),
    heartbeatMs: HEARTBEAT_MS,
    timeoutMs: HEARTBEAT_TIMEOUT_MS,
    onInterrupted,
  });
  return {
    ...listening,
    stop() {
      stopped = true;
      listening.stop();
    },
  };
}

/** The adapter ignores these promises, and an unhandled rejection would end the process. */
function catchRejections(subscriber: Redis, onError: (error: unknown) => void): void {
  for (const name of ['ssubscribe', 'sunsubscribe'] as const) {
    const command = subscriber[name].bind(subscriber) as (...channels: string[]) => Promise<unknown>;
    subscriber[name] = (...channels: unknown[]) => {
      const reply = command(...(channels as string[]));
      reply.catch(onError);
      return reply;
    };
  }
}
