import { setImmediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'mysql2/promise';
import { Server } from 'socket.io';
import type { DecodedCapture } from '../domain/capture-batch.ts';
import { endpointRoom, presentEvent, REQUEST_EVENT, userRoom } from '../domain/live-event.ts';
import { liveAdapter, watchedRooms } from '../redis/live-channels.ts';
import { findSequence, type NumberedCapture } from '../store/capture-batches.ts';
import type { Persisted } from './persist.ts';

/** Events that are published in one go; other work gets a turn between. */
const EVENTS_AT_ONCE = 64;

/** Shows stored captures to whoever follows them on any API process. */
export interface Broadcaster {
  /**
   * Resolves when Redis has every event, however long it is away: a job is not done before, so that
   * whatever happens to this process, its captures are shown by the job's next run. Returns how many events there were.
   */
  broadcast(persisted: Persisted): Promise<number>;
  close(): Promise<void>;
}

export interface BroadcasterOptions {
  pool: Pool;
  /** Waits for a Redis that is away, and sends what has no answer again. */
  publisher: Redis;
  /** The adapter wants one; nothing is published to this process. */
  subscriber: Redis;
  prefix: string;
}

/**
 * A Socket.IO server without clients. A room gets an emit of its own, because only then does the adapter
 * use the room's channel; captures that nobody follows cost one question for a whole transaction.
 */
export function createBroadcaster({ pool, publisher, subscriber, prefix }: BroadcasterOptions): Broadcaster {
  const io = new Server({ adapter: liveAdapter(publisher, subscriber, prefix) });

  async function broadcast({ stored, repeated }: Persisted): Promise<number> {
    const captures = [...stored, ...repeated];
    if (captures.length === 0) return 0;
    const watched = await watchedRooms(publisher, prefix, [...new Set(captures.flatMap(roomsOf))]);
    if (watched.size === 0) return 0;
    const isWatched = (capture: DecodedCapture): boolean => roomsOf(capture).some((room) => watched.has(room));
    // A job ran before, and nobody knows whether its captures were shown.
    const again = await numbered(pool, repeated.filter(isWatched));
    let events = 0;
    for (const [i, capture] of [...stored.filter(isWatched), ...again].entries()) {
      if (i % EVENTS_AT_ONCE === EVENTS_AT_ONCE - 1) await setImmediate();
      const event = presentEvent(capture);
      for (const room of roomsOf(capture)) {
        if (!watched.has(room)) continue;
        io.to(room).emit(REQUEST_EVENT, event);
        events += 1;
      }
    }
    // The adapter tells nobody how its publishing went; this answer comes after those of all of it.
    await publisher.ping();
    return events;
  }

  return {
    broadcast,
    async close() {
      // Not `io.close()`: that closes an HTTP side, which there is none of.
      await io.of('/').adapter.close();
    },
  };
}

function roomsOf({ endpointId, userId }: DecodedCapture): string[] {
  return [endpointRoom(endpointId), userRoom(userId)];
}

/** Those of the captures that are stored still, with their places. */
async function numbered(pool: Pool, captures: readonly DecodedCapture[]): Promise<NumberedCapture[]> {
  if (captures.length === 0) return [];
  const places = await findSequence(pool, captures.map(({ id }) => id));
  return captures.flatMap((capture) => {
    const seq = places.get(capture.id);
    return seq === undefined ? [] : [{ ...capture, seq }];
  });
}
