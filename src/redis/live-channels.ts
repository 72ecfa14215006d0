import { createShardedAdapter } from '@socket.io/redis-adapter';
import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';
import { isForbidden } from './connections.ts';

/** What a Socket.IO server takes as its `adapter`. */
type LiveAdapter = ReturnType<typeof createShardedAdapter>;

const HEARTBEAT_MS = 5_000;
const HEARTBEAT_TIMEOUT_MS = 3_000;

/** The adapter of a process with sockets: a room has a Redis channel of its own, which only processes with members of the room listen to. */
export function liveAdapter(publisher: Redis, subscriber: Redis, prefix: string): LiveAdapter {
  return createShardedAdapter(publisher, subscriber, { channelPrefix: channelPrefix(prefix) });
}

/**
 * The adapter of a process that has no sockets. It listens to nothing, so that neither a Redis that refuses
 * that nor one that is away as the process stops can end it: the adapter leaves those promises alone.
 *
 * @param publish what the adapter calls SPUBLISH by
 */
export function publishingAdapter(publish: (channel: string, message: string | Buffer) => Promise<unknown>, prefix: string): LiveAdapter {
  const listensToNothing = { on() {}, ssubscribe() {}, sunsubscribe() {} };
  return createShardedAdapter({ spublish: publish }, listensToNothing, { channelPrefix: channelPrefix(prefix) });
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
   * @throws when Redis does not answer in time, or does not let us listen
   */
  settled(): Promise<void>;
  stop(): void;
}

/**
 * Watches the connection that events come in by. What is published while it is down is lost to this process,
 * so that `onInterrupted` has to send clients away to catch up. A connection whose other end vanished
 * without a word is found out by its silence, and a Redis that lets us connect and not listen by being asked to
 * for a channel of its own: nothing is published there.
 */
export function watchSubscriber(subscriber: Redis, prefix: string, log: Log, onInterrupted: () => void): Listening {
  let up = false;
  let forbidden = false;
  let stopped = false;
  catchRejections(subscriber, (error) => stopped || log.error({ error: describeError(error) }, 'Cannot listen for live events; Redis 7 or later is needed, and its ACL has to allow ssubscribe on our prefix'));

  const listen = (): Promise<unknown> => withDeadline(HEARTBEAT_TIMEOUT_MS, subscriber.ssubscribe(`${channelPrefix(prefix)}#listening`));
  async function check(): Promise<void> {
    try {
      await listen();
      up = true;
      forbidden = false;
    } catch (error) {
      if (stopped) return;
      forbidden = isForbidden(error);
      if (forbidden) interrupt();
      else subscriber.disconnect(true);
    }
  }
  function interrupt(): void {
    if (!stopped && up) onInterrupted();
    up = false;
  }
  subscriber.on('ready', () => void check());
  subscriber.on('close', interrupt);
  const heartbeat = setInterval(() => {
    if (up || forbidden) void check();
  }, HEARTBEAT_MS);

  return {
    isUp: () => up,
    async settled() {
      await listen();
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
