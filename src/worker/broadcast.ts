import type { Redis } from 'ioredis';
import type { Pool } from 'mysql2/promise';
import { Server } from 'socket.io';
import type { DecodedCapture } from '../domain/capture-batch.ts';
import { endpointRoom, presentEvent, REQUEST_EVENT, userRoom } from '../domain/live-event.ts';
import { describeError, type Log } from '../log.ts';
import { isForbidden } from '../redis/connections.ts';
import { publishingAdapter, watchedRooms } from '../redis/live-channels.ts';
import { findSequence, type NumberedCapture } from '../store/capture-batches.ts';
import { createTurns } from '../turns.ts';
import type { Persisted } from './persist.ts';

/** Shows stored captures to whoever follows them on any API process. */
export interface Broadcaster {
  /**
   * Resolves when Redis has every event, however long it is away: a job is not done before, so that
   * whatever happens to this process, its captures are shown by the job's next run. Returns how many events there were.
   * A Redis that does not let us publish is logged: what is stored is stored, whoever may see it live.
   */
  broadcast(persisted: Persisted): Promise<number>;
}

export interface BroadcasterOptions {
  pool: Pool;
  /** Waits for a Redis that is away, and sends what has no answer again. */
  publisher: Redis;
  prefix: string;
  log: Log;
}

/**
 * A Socket.IO server without clients. A room gets an emit of its own, because only then does the adapter
 * use the room's channel; captures that nobody follows cost one question for a whole transaction.
 */
export function createBroadcaster({ pool, publisher, prefix, log }: BroadcasterOptions): Broadcaster {
  // The adapter tells nobody how its publishing went.
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
      'Stored captures were not shown live; Redis 7 or later is needed, and its ACL has to allow pubsub and spublish on our prefix',
    );
  }

  async function publishAll({ stored, repeated }: Persisted): Promise<number> {
    const captures = [...stored, ...repeated];
    if (captures.length === 0) return 0;
    const watched = await watchedRooms(publisher, prefix, [...new Set(captures.flatMap(roomsOf))]);
    if (watched.size === 0) return 0;
    const isWatched = (capture: DecodedCapture): boolean => roomsOf(capture).some((room) => watched.has(room));
    // A job ran before, and nobody knows whether its captures were shown.
    const again = await numbered(pool, repeated.filter(isWatched));
    let events = 0;
    const turn = createTurns();
    for (const capture of [...stored.filter(isWatched), ...again]) {
      await turn();
      const event = presentEvent(capture);
      for (const room of roomsOf(capture)) {
        if (!watched.has(room)) continue;
        io.to(room).emit(REQUEST_EVENT, event);
        events += 1;
      }
    }
    // This answer comes after those of everything that was published.
    await publisher.ping();
    return events;
  }

  return { broadcast };
}

function roomsOf({ endpointId, userId }: DecodedCapture): string[] {
  return [endpointRoom(endpointId), userRoom(userId)];
}

/** Those of the captures that are stored still, with their places. */
async function numbered(pool: Pool, captures: readonly DecodedCapture[]): Promise<NumberedCapture[]> {
  if (captures.length === 0) return [];
  const places = await findSequence(
    pool,
    captures.map(({ id }) => id),
  );
  return captures.flatMap((capture) => {
    const seq = places.get(capture.id);
    return seq === undefined ? [] : [{ ...capture, seq }];
  });
}
