import { createShardedAdapter } from '@socket.io/redis-adapter';
import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';

/** What a Socket.IO server takes as its `adapter`. */
type LiveAdapter = ReturnType<typeof createShardedAdapter>;

const HEARTBEAT_MS = 5_000;
const HEARTBEAT_TIMEOUT_MS = 3_000;

/** The adapter of every process, API or worker: a room has a Redis channel of its own, which only processes with members of the room listen to. */
export function liveAdapter(publisher: Redis, subscriber: Redis, prefix: string): LiveAdapter {
  return createShardedAdapter(publisher, subscriber, { channelPrefix: channelPrefix(prefix) });
}

/** Those of the rooms that have members on any process. */
export async function watchedRooms(redis: Redis, prefix: string, rooms: readonly string[]): Promise<Set<string>> {
  const reply = (await redis.call('PUBSUB', 'SHARDNUMSUB', ...rooms.map((room) => channelOf(prefix, room)))) as (string | number)[];
  // Channels and their numbers of subscribers in turn, in the order of the question.
  return new Set(rooms.filter((_room, i) => Number(reply[2 * i + 1]) > 0));
}

export interface Listening {
  /** Whether what is published reaches this process now. */
  isUp(): boolean;
  /**
   * Resolves when every subscription that was asked for so far holds: Redis answers in order.
   * @throws when Redis does not answer in time
   */
  settled(): Promise<void>;
  stop(): void;
}

/**
 * Watches the connection that events come in by. What is published while it is down is lost to this process,
 * so that `onInterrupted` has to send clients away to catch up. A connection whose other end vanished
 * without a word is found out by its silence.
 */
export function watchSubscriber(subscriber: Redis, log: Log, onInterrupted: () => void): Listening {
  let up = false;
  let stopped = false;
  catchRejections(subscriber, (error) => stopped || log.error({ error: describeError(error) }, 'Cannot listen for live events; Redis 7 or later is needed, and its ACL has to allow ssubscribe on our prefix'));

  const ping = (): Promise<unknown> => withDeadline(HEARTBEAT_TIMEOUT_MS, subscriber.ping());
  subscriber.on('ready', () => {
    ping().then(() => (up = true), () => subscriber.disconnect(true));
  });
  subscriber.on('close', () => {
    if (!stopped && up) onInterrupted();
    up = false;
  });
  const heartbeat = setInterval(() => {
    if (up) ping().catch(() => stopped || subscriber.disconnect(true));
  }, HEARTBEAT_MS);

  return {
    isUp: () => up,
    async settled() {
      await ping();
    },
    stop() {
      stopped = true;
      clearInterval(heartbeat);
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
  return `${channelPrefix(prefix)}#/#${room}#`;
}

/** Every key and channel of an installation begins with its prefix. */
function channelPrefix(prefix: string): string {
  return `${prefix}:live`;
}
