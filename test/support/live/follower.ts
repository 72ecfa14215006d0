import { io } from 'socket.io-client';
import type { SubscriptionAnswer } from '../../../src/api/live/subscriptions.ts';
import type { LogEntry } from '../../../src/domain/answers.ts';

/**
 * A client like that of src/api/live/README.md: it subscribes to endpoints, and after every interruption catches up from its last
 * contiguous `seq`.
 */
export interface Follower {
  /** Every `seq` that it received, by endpoint. */
  seen: Map<string, Set<number>>;
  /** Ids of entries of endpoints that it did not subscribe to. */
  foreign: string[];
  /** Milliseconds from a capture's arrival to its event, of live events. */
  latencies: number[];
  connects: number;
  isConnected(): boolean;
  close(): void;
}

export function startFollower(url: string, token: string, endpointIds: readonly string[]): Follower {
  const socket = io(url, { transports: ['websocket'], auth: { token }, forceNew: true });
  const seen = new Map(endpointIds.map((id) => [id, new Set<number>()]));
  /** Every `seq` up to this one was received. */
  const last = new Map(endpointIds.map((id) => [id, 0]));
  /** An endpoint was replayed up to this `seq`; undefined during a replay. */
  const replayed = new Map<string, number | undefined>();
  const follower: Follower = {
    seen,
    foreign: [],
    latencies: [],
    connects: 0,
    isConnected: () => socket.connected,
    close: () => void socket.disconnect(),
  };

  socket.on('connect', () => {
    follower.connects += 1;
    for (const id of endpointIds) void follow(id);
  });
  socket.on('request', (entry: LogEntry) => {
    const { endpoint_id: id, seq } = entry;
    const numbers = seen.get(id);
    if (numbers === undefined) return void follower.foreign.push(entry.id);
    const isLive = seq > (replayed.get(id) ?? Infinity);
    if (isLive && !numbers.has(seq)) follower.latencies.push(Date.now() - Date.parse(entry.created_at));
    numbers.add(seq);
    advance(id, last.get(id) ?? 0);
  });

  async function follow(endpointId: string): Promise<void> {
    replayed.delete(endpointId);
    try {
      const answer: SubscriptionAnswer & { error?: string } = await socket
        .timeout(10_000)
        .emitWithAck('subscribe', { endpointId, after: last.get(endpointId) });
      if (answer.error !== undefined) throw new Error(answer.error);
      advance(endpointId, answer.next ?? 0);
      if (answer.more) return await follow(endpointId);
      replayed.set(endpointId, answer.next ?? 0);
    } catch {
      if (socket.connected) setTimeout(() => void follow(endpointId), 200);
    }
  }

  function advance(endpointId: string, atLeast: number): void {
    let next = Math.max(last.get(endpointId) ?? 0, atLeast);
    while (seen.get(endpointId)?.has(next + 1) === true) next += 1;
    last.set(endpointId, next);
  }

  return follower;
}
