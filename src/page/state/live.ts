import { io, type Socket } from 'socket.io-client';
import { KEPT_BODY_BYTES, type Entry } from '../model/entry.ts';

/** What the connection says to whoever follows an endpoint. */
export interface LiveEvents {
  connected(): void;
  arrived(entry: Entry): void;
  /** The connection is closed; the next attempt is at `retryAt` (Unix milliseconds). */
  lost(why: string | undefined, retryAt: number): void;
  /** The token is refused. */
  unauthorized(reason: string): void;
}

export interface Live {
  /** Follows the endpoint, after all entries beyond `after` have been sent. */
  subscribe(endpointId: string, after: number): Promise<Subscribed>;
  isConnected(): boolean;
  /** Tries at once. */
  retry(): void;
  close(): void;
}

export interface Subscribed {
  /** Everything up to this `seq` was sent. */
  next: number;
  /** Whether more is left to be sent. */
  more: boolean;
}

const CONNECT_MS = 6_000;
const RETRY_MS = { first: 500, most: 10_000 };
/** Longer than the server takes to send what was missed to a slow reader. */
const SUBSCRIBE_MS = 45_000;

/** One WebSocket, which connects again until it is closed. */
export function openLive(token: () => string | undefined, on: LiveEvents): Live {
  let attempts = 0;
  let closed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const socket: Socket = io({
    transports: ['websocket'],
    // Our own attempts, so that the page can say when the next one is.
    reconnection: false,
    forceNew: true,
    // A proxy may accept a WebSocket and pass nothing on.
    timeout: CONNECT_MS,
    auth: (send) => send({ token: token() }),
  });

  function retryLater(why: string | undefined): void {
    if (closed) return;
    const ms = Math.min(RETRY_MS.first * 2 ** attempts, RETRY_MS.most) * (0.75 + Math.random() / 2);
    attempts += 1;
    timer = setTimeout(() => socket.connect(), ms);
    on.lost(why, Date.now() + ms);
  }

  socket.on('connect', () => {
    if (closed) return void socket.close();
    attempts = 0;
    on.connected();
  });
  socket.on('request', (entry: Entry) => on.arrived(entry));
  socket.on('connect_error', (error: Error & { data?: { error?: string } }) => {
    if (error.message === 'unauthorized') on.unauthorized(error.data?.error ?? 'The token is not valid');
    else retryLater(error.data?.error);
  });
  socket.on('disconnect', (reason, details) => {
    if (reason === 'io client disconnect') return;
    const { code } = ((details as { context?: CloseEvent } | undefined)?.context ?? {}) as Partial<CloseEvent>;
    if (code === 4401) on.unauthorized('The token is not valid any more');
    else retryLater(undefined);
  });

  return {
    async subscribe(endpointId, after) {
      const message = { endpointId, after, bodyBytes: KEPT_BODY_BYTES };
      const answer = (await socket.timeout(SUBSCRIBE_MS).emitWithAck('subscribe', message)) as
        Subscribed | { error: string };
      if ('error' in answer) throw new Error(answer.error);
      return answer;
    },
    isConnected: () => socket.connected,
    retry() {
      clearTimeout(timer);
      attempts = 0;
      if (!socket.connected) socket.connect();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      // Browsers warn of a WebSocket that is closed before it is open.
      if (socket.connected) socket.close();
    },
  };
}
