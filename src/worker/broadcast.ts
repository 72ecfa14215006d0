import type { Redis } from 'ioredis';
import type { Pool } from 'mysql2/promise';
import { Server } from 'socket.io';
import type { DecodedCapture } from '../domain/capture-job.ts';
import {
  BRIEF_MAX_BODY_BYTES,
  endpointRoom,
  EVENT_MAX_BODY_BYTES,
  presentEvent,
  REQUEST_EVENT,
  userRoom,
} from '../domain/live-event.ts';
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
    const watched = await watchedChannels(publisher, [...wakeUps, ...channelsOf(captures)]);
    if (watched.size === 0) return 0;
    for (const channel of wakeUps) if (watched.has(channel)) void publish(channel, '');
    const isWatched = (capture: DecodedCapture): boolean =>
      channelsOf([capture]).some((channel) => watched.has(channel));
    // An earlier run stored these captures, and may have failed before it published them.
    const again = await withSequence(pool, repeated.filter(isWatched));
    return publishEvents([...stored.filter(isWatched), ...again], watched);
  }

  /**
   * A socket may move to another room, and leave the one that is watched here, before the event gets there. So this
   * asks again after publishing, until no room is new: such a socket gets its event in the new room, and others perhaps
   * twice.
   */
  async function publishEvents(captures: NumberedCapture[], watched: Set<string>): Promise<number> {
    const channels = channelsOf(captures);
    const reached = new Set<string>();
    let events = 0;
    for (let reachable = watched; reachable.size > 0;) {
      events += await emitTo(reachable, captures);
      for (const channel of reachable) reached.add(channel);
      // Redis answers in order, so this also waits for everything that was published.
      reachable = (await watchedChannels(publisher, channels)).difference(reached);
    }
    return events;
  }

  async function emitTo(reachable: Set<string>, captures: NumberedCapture[]): Promise<number> {
    const isReachable = (room: string): boolean => reachable.has(roomChannel(prefix, room));
    const turn = createTurns();
    let events = 0;
    for (const capture of captures) {
      for (const { rooms, bodyBytes } of audiencesOf(capture)) {
        const open = rooms.filter(isReachable);
        if (open.length === 0) continue;
        await turn();
        const event = presentEvent(capture, bodyBytes);
        for (const room of open) io.to(room).emit(REQUEST_EVENT, event);
        events += open.length;
      }
    }
    return events;
  }

  /** The channels of the captures' rooms; captures of one endpoint have the same. */
  function channelsOf(captures: readonly DecodedCapture[]): string[] {
    const distinct = new Map(captures.map((capture) => [capture.endpointId, capture])).values();
    const rooms = [...distinct].flatMap(audiencesOf).flatMap((audience) => audience.rooms);
    return [...new Set(rooms)].map((room) => roomChannel(prefix, room));
  }

  return { broadcast };
}

/** The rooms of a capture, by how much of the body their events have. */
function audiencesOf({ endpointId, userId }: DecodedCapture): { rooms: string[]; bodyBytes: number }[] {
  return [
    { rooms: [endpointRoom(endpointId), userRoom(userId)], bodyBytes: EVENT_MAX_BODY_BYTES },
    { rooms: [endpointRoom(endpointId, BRIEF_MAX_BODY_BYTES)], bodyBytes: BRIEF_MAX_BODY_BYTES },
  ];
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
