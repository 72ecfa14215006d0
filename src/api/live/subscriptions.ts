import type { Socket } from 'socket.io';
import { withDeadline } from '../../deadline.ts';
import { notFound } from '../http/errors.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import { endpointRoom, userRoom } from '../../domain/live-event.ts';
import { retentionCutoff } from '../../domain/time.ts';
import type { Listening } from '../../redis/listening.ts';
import type { Database } from '../../store/database.ts';
import { findEndpoint } from '../../store/endpoints.ts';
import type { Reader } from '../../store/requests.ts';
import type { Principal } from '../auth/token.ts';
import type { LiveConnection } from './connection.ts';
import { validate } from '../http/validate.ts';
import { subscribeMessage, unsubscribeMessage, type Subscribe } from './messages.ts';
import { QUERY_DEADLINE_MS, replay, type ReplayLimit } from './replay.ts';

export interface SubscriptionOptions {
  db: Database;
  listening: Listening;
  onReplayed: (count: number) => void;
  replayLimit: ReplayLimit;
}

export interface SubscriptionAnswer {
  endpointId: string;
  replayed: number;
  /** The `seq` to continue after: every entry up to it was sent or deleted. Null after `unsubscribe`. */
  next: number | null;
  /** Whether more entries are left to replay. */
  more: boolean;
}

export interface Subscriptions {
  /** @throws HttpError 400, 404; other errors when a store is unreachable */
  subscribe(message: unknown): Promise<SubscriptionAnswer>;
  /** @throws HttpError 400 */
  unsubscribe(message: unknown): Promise<SubscriptionAnswer>;
}

/**
 * The rooms of one socket: the user's room, as long as it is subscribed to no single endpoint. Calls must not overlap.
 * What a call holds back is sent when the caller releases the connection.
 */
export function createSubscriptions(
  socket: Socket,
  connection: LiveConnection,
  { userId, plan }: Principal,
  options: SubscriptionOptions,
): Subscriptions {
  const { db, listening } = options;
  const currentReader = (): Reader => ({ userId, since: retentionCutoff(plan.retentionDays, Date.now()) });
  /** The room of each endpoint that the socket is subscribed to. */
  const rooms = new Map<string, string>();

  async function ownEndpoint(endpointId: string): Promise<Endpoint> {
    const endpoint = await withDeadline(QUERY_DEADLINE_MS, findEndpoint(db.knex, userId, endpointId));
    if (endpoint === undefined) throw notFound();
    return endpoint;
  }

  /** Joins a room; events that are published after it resolves are received. */
  async function join(room: string): Promise<void> {
    await socket.join(room);
    await listening.settled();
  }

  /** Joins the new room before it leaves the old one: an event may come twice, but is not lost. */
  async function leave(endpointId: string): Promise<void> {
    const room = rooms.get(endpointId);
    if (room === undefined) return;
    if (rooms.size === 1) await join(userRoom(userId));
    await socket.leave(room);
    rooms.delete(endpointId);
  }

  async function joinAndReplay(message: Subscribe): Promise<SubscriptionAnswer> {
    const { endpointId, after, bodyBytes } = message;
    await join(endpointRoom(endpointId, bodyBytes));
    // Read after joining: later entries come live, and the others were committed before the replay reads.
    const { requestCount: committed } = await ownEndpoint(endpointId);
    if (after === undefined) return { endpointId, replayed: 0, next: committed, more: false };
    const { replayed, last, complete } = await replay(
      { ...options, socket, connection, endpointId, bodyBytes, reader: currentReader() },
      after,
    );
    const more = !complete && last < committed;
    return { endpointId, replayed, next: more ? last : Math.max(last, committed), more };
  }

  return {
    async subscribe(message) {
      const { endpointId: given, after, bodyBytes } = validate(subscribeMessage, message);
      const endpointId = given.toLowerCase();
      const [room, before] = [endpointRoom(endpointId, bodyBytes), rooms.get(endpointId)];
      await ownEndpoint(endpointId);
      // Live events are held back from here on, so that the replayed ones come first.
      if (after !== undefined) connection.hold();
      try {
        const answer = await joinAndReplay({ endpointId, after, bodyBytes });
        rooms.set(endpointId, room);
        if (before !== room) await socket.leave(before ?? userRoom(userId));
        return answer;
      } catch (error) {
        if (before !== room) await socket.leave(room);
        throw error;
      }
    },

    async unsubscribe(message) {
      const endpointId = validate(unsubscribeMessage, message).endpointId.toLowerCase();
      await leave(endpointId);
      return { endpointId, replayed: 0, next: null, more: false };
    },
  };
}
