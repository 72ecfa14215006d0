import type { Redis } from 'ioredis';
import type { Pool } from 'mysql2/promise';
import { Server } from 'socket.io';
import type { DecodedCapture } from '../domain/capture-batch.ts';
import { endpointRoom, presentEvent, REQUEST_EVENT, userRoom } from '../domain/live-event.ts';
import { describeError, type Log } from '../log.ts';
import { isForbidden } from '../redis/connections.ts';
import { redisKeys } from '../redis/keys.ts';
import { publishingAdapter, roomChannel, watchedChannels } from '../redis/live-channels.ts';
import { findSequence, type NumberedCapture } from '../store/capture-batches.ts';
import { createTurns } from '../turns.ts';
import type { Persisted } from './persist.ts';

export interface Broadcaster {
  /**
   * Resolves with the number of events when Redis has received them all, however long it is unreachable. The job is
   * done only then, so a crash repeats the broadcast. A Redis that forbids publishing is logged: the captures are
   * stored all the same.
   */
  broadcast(persisted: Persisted): Promise<number>;
}

export interface BroadcasterOptions {
  pool: Pool;
  /** Waits for an unreachable Redis, and repeats commands without an answer. */
  publisher: Redis;
  prefix: string;
  log: Log;
}

/**
 * A Socket.IO server without clients. Each room gets its own emit, because only then does the adapter use the room's
 * channel. One query for the whole transaction finds the captures that have followers: in rooms, and on the channels
 * that wake up waits and streams (`redis/wake-ups.ts`).
 */
export function createBroadcaster({ pool, publisher, prefix, log }: BroadcasterOptions): Broadcaster {
  // The adapter ignores the result of publishing.
  let refusal: unknown;
  const publish = (channel: string, message: string | Buffer): Promise<unknown> =>
    publisher.spublish(channel, message).catch((error: unknown) => {
      refusal = error;
    });
  const io = new Server({ adapter: publishingAdapter(publish, prefix) });

  async function broadcast(persisted: Persisted): Promise<number> {
    try {
      const events = await publishAll(persisted);
      if (refusal !== undefined) logRefusal(refusal);
      refusal = undefined;
      return events;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      logRefusal(error);
      return 0;
    }
  }

  function logRefusal(error: unknown): void {
    log.error(
      { error: describeError(error) },
      'Stored captures were not published as live events; Redis 7 or later is needed, and its ACL has to allow pubsub and spublish on our prefix',
    );
  }

  async function publishAll({ stored, repeated }: Persisted): Promise<number> {
    const captures = [...stored, ...repeated];
    if (captures.length === 0) return 0;
    const wakeUps = [...new Set(captures.map(({ endpointId }) => redisKeys(prefix).stored(endpointId)))];
    const rooms = [...new Set(captures.flatMap(roomsOf))];
    const channels = [...wakeUps, ...rooms.map((room) => roomChannel(prefix, room))];
    const watched = await watchedChannels(publisher, channels);
    if (watched.size === 0) return 0;
    for (const channel of wakeUps) if (watched.has(channel)) void publish(channel, '');
    const hasMembers = (room: string): boolean => watched.has(roomChannel(prefix, room));
    const isWatched = (capture: DecodedCapture): boolean => roomsOf(capture).some(hasMembers);
    // An earlier run stored these captures, and may have failed before it published them.
    const again = await withSequence(pool, repeated.filter(isWatched));
    let events = 0;
    const turn = createTurns();
    for (const capture of [...stored.filter(isWatched), ...again]) {
      await turn();
      const event = presentEvent(capture);
      for (const room of roomsOf(capture)) {
        if (!hasMembers(room)) continue;
        io.to(room).emit(REQUEST_EVENT, event);
        events += 1;
      }
    }
    // Redis answers in order, so this waits for everything that was published.
    await publisher.ping();
    return events;
  }

  return { broadcast };
}

function roomsOf({ endpointId, userId }: DecodedCapture): string[] {
  return [endpointRoom(endpointId), userRoom(userId)];
}

/** The captures that are still stored, with their sequence numbers. */
async function withSequence(pool: Pool, captures: readonly DecodedCapture[]): Promise<NumberedCapture[]> {
  if (captures.length === 0) return [];
  const sequence = await findSequence(
    pool,
    captures.map(({ id }) => id),
  );
  return captures.flatMap((capture) => {
    const seq = sequence.get(capture.id);
    return seq === undefined ? [] : [{ ...capture, seq }];
  });
}
