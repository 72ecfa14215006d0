import { createShardedAdapter } from '@socket.io/redis-adapter';
import type { Redis } from 'ioredis';
import { describeError, type Log } from '../log.ts';
import { redisKeys } from './keys.ts';
import { watchListening, type Listening } from './listening.ts';

/** What a Socket.IO server takes as its `adapter`. */
type LiveAdapter = ReturnType<typeof createShardedAdapter>;

const HEARTBEAT_MS = 5_000;
const HEARTBEAT_TIMEOUT_MS = 3_000;

/**
 * The adapter of a process with sockets: a room has a Redis channel of its own, which only processes with members of
 * the room listen to.
 */
export function liveAdapter(publisher: Redis, subscriber: Redis, prefix: string): LiveAdapter {
  return createShardedAdapter(publisher, subscriber, { channelPrefix: redisKeys(prefix).live });
}

/**
 * The adapter of a process that has no sockets. It listens to nothing, so that neither a Redis that refuses
 * that nor one that is away as the process stops can end it: the adapter leaves those promises alone.
 *
 * @param publish what the adapter calls SPUBLISH by
 */
export function publishingAdapter(
  publish: (channel: string, message: string | Buffer) => Promise<unknown>,
  prefix: string,
): LiveAdapter {
  const listensToNothing = { on() {}, ssubscribe() {}, sunsubscribe() {} };
  return createShardedAdapter({ spublish: publish }, listensToNothing, { channelPrefix: redisKeys(prefix).live });
}

/** Those of the rooms that have members on any process. */
export async function watchedRooms(redis: Redis, prefix: string, rooms: readonly string[]): Promise<Set<string>> {
  const reply = (await redis.call('PUBSUB', 'SHARDNUMSUB', ...rooms.map((room) => channelOf(prefix, room)))) as (
    string | number
  )[];
  // Channels and their numbers of subscribers in turn, in the order of the question.
  return new Set(rooms.filter((_room, i) => Number(reply[2 * i + 1]) > 0));
}

/**
 * Watches the connection that events come in by. What is published while it is down is lost to this process,
 * so that `onInterrupted` has to send clients away to catch up. The channel is our own: nothing is published there.
 */
export function watchSubscriber(subscriber: Redis, prefix: string, log: Log, onInterrupted: () => void): Listening {
  let stopped = false;
  catchRejections(
    subscriber,
    (error) =>
      stopped ||
      log.error(
        { error: describeError(error) },
        'Cannot listen for live events; Redis 7 or later is needed, and its ACL has to allow ssubscribe on our prefix',
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

/** The adapter leaves these promises alone, and a rejection that nobody looks at ends the process. */
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

/** As the adapter of this version names it. */
function channelOf(prefix: string, room: string): string {
  return `${redisKeys(prefix).live}#/#${room}#`;
}
