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
import { subscribeMessage, unsubscribeMessage } from './messages.ts';
import { QUERY_DEADLINE_MS, replay, type ReplayLimit } from './replay.ts';

export interface SubscriptionOptions {
  db: Database;
  listening: Listening;
  /** Entries that were replayed. */
  onReplayed: (count: number) => void;
  /** Reads pages of replays, not too many at once. */
  replayLimit: ReplayLimit;
}

/** What `subscribe` and `unsubscribe` are answered by. */
export interface SubscriptionAnswer {
  endpointId: string;
  /** Entries that were sent from the database. */
  replayed: number;
  /** The `seq` to continue after: everything up to it was sent, or is gone. Null after `unsubscribe`. */
  next: number | null;
  /** Whether there was more to replay than was sent. */
  more: boolean;
}

export interface Subscriptions {
  /** @throws HttpError 400, 404; other errors when the stores are away */
  subscribe(message: unknown): Promise<SubscriptionAnswer>;
  /** @throws HttpError 400 */
  unsubscribe(message: unknown): Promise<SubscriptionAnswer>;
}

/**
 * The rooms of one socket: the user's, as long as it is subscribed to no endpoint of its own choice.
 * Calls must not overlap. Whatever a call sends is sent when it is over; the caller releases the connection.
 */
export function createSubscriptions(
  socket: Socket,
  connection: LiveConnection,
  { userId, plan }: Principal,
  options: SubscriptionOptions,
): Subscriptions {
  const { db, listening } = options;
  const readerNow = (): Reader => ({ userId, since: retentionCutoff(plan.retentionDays, Date.now()) });
  const endpoints = new Set<string>();

  async function ownEndpoint(endpointId: string): Promise<Endpoint> {
    const endpoint = await withDeadline(QUERY_DEADLINE_MS, findEndpoint(db.knex, userId, endpointId));
    if (endpoint === undefined) throw notFound();
    return endpoint;
  }

  /** Joins a room; when it resolves, nothing that is published from then on is missed. */
  async function join(room: string): Promise<void> {
    await socket.join(room);
    await listening.settled();
  }

  /** A new room is joined before the old one is left: rather an event twice than never. */
  async function leave(endpointId: string): Promise<void> {
    endpoints.delete(endpointId);
    if (endpoints.size === 0) await join(userRoom(userId));
    await socket.leave(endpointRoom(endpointId));
  }

  async function follow(endpointId: string, after: number | undefined): Promise<SubscriptionAnswer> {
    await join(endpointRoom(endpointId));
    // Read after joining: what is beyond it comes live, and what is not was committed before the replay reads.
    const { requestCount: committed } = await ownEndpoint(endpointId);
    if (after === undefined) return { endpointId, replayed: 0, next: committed, more: false };
    const { replayed, last, complete } = await replay(
      { ...options, socket, connection, endpointId, reader: readerNow() },
      after,
    );
    const more = !complete && last < committed;
    return { endpointId, replayed, next: more ? last : Math.max(last, committed), more };
  }

  return {
    async subscribe(message) {
      const { endpointId: given, after } = validate(subscribeMessage, message);
      const endpointId = given.toLowerCase();
      await ownEndpoint(endpointId);
      // Live events wait from here on, so that those of the past come before them.
      if (after !== undefined) connection.hold();
      try {
        const answer = await follow(endpointId, after);
        endpoints.add(endpointId);
        await socket.leave(userRoom(userId));
        return answer;
      } catch (error) {
        if (!endpoints.has(endpointId)) await socket.leave(endpointRoom(endpointId));
        throw error;
      }
    },

    async unsubscribe(message) {
      const endpointId = validate(unsubscribeMessage, message).endpointId.toLowerCase();
      if (endpoints.has(endpointId)) await leave(endpointId);
      return { endpointId, replayed: 0, next: null, more: false };
    },
  };
}
