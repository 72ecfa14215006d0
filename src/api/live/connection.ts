import type { Socket } from 'socket.io';
import { CLOSE, type CloseReason } from '../../domain/live-event.ts';

/** The connection under a Socket.IO socket. */
export type Conn = Socket['conn'];

/** Of the WebSocket itself: what is needed here. */
export interface WebSocketLike {
  /** Bytes that it was given and that the operating system has not taken yet. */
  readonly bufferedAmount: number;
  close(code: number, reason: string): void;
  terminate(): void;
  once(event: 'close', listener: () => void): unknown;
  on(event: 'ping', listener: () => void): unknown;
}

/** How long a client may take to answer that it is closed. */
const CLOSE_TIMEOUT_MS = 10_000;

const DRAIN_POLL_MS = 20;

/** The way out to one client: bounded, and to be held back. */
export interface LiveConnection {
  /**
   * Closes so that the client reads why, and connects again by itself; nothing more is sent.
   * Never Socket.IO's `disconnect`, which tells a client to stay away.
   */
  cut(reason: CloseReason): void;
  /** Keeps what is sent from now on until `release`, except within `pass`. */
  hold(): void;
  pass(send: () => void): void;
  /** Sends what was kept, in order. */
  release(): void;
  /** Whether so much waits for the client that it should be given time to read. */
  isBehind(): boolean;
  /**
   * Resolves with true when the client has read most of what it was sent, with false when it is gone or has not until
   * `end`, by `performance.now()`.
   */
  caughtUp(end: number): Promise<boolean>;
  isOpen(): boolean;
  /** Why it was cut, if it was. */
  cutFor(): CloseReason | undefined;
}

/**
 * Takes over the writing of a connection. A room's broadcast goes straight to the connection,
 * past anything that a Socket.IO socket offers to hold or count it.
 *
 * @param maxBufferedBytes what may wait for the client before one more event; beyond it the connection is cut
 */
export function createLiveConnection(conn: Conn, webSocket: WebSocketLike, maxBufferedBytes: number): LiveConnection {
  type Write = Parameters<Conn['write']>;
  const write = conn.write.bind(conn);
  let held: Write[] | undefined;
  let heldBytes = 0;
  let waitingBytes = 0;
  let passing = false;
  let cutReason: CloseReason | undefined;

  conn.write = (...packet: Write) => {
    if (cutReason !== undefined) return conn;
    if (held === undefined || passing) return write(...packet);
    if (heldBytes > maxBufferedBytes) cut('too_slow');
    else held.push(packet);
    heldBytes += lengthOf(packet[0]);
    return conn;
  };
  // What is created waits until the connection takes it (`flush`), which it does when the last lot is sent.
  conn.on('packetCreate', ({ data }: { data?: unknown }) => {
    // What waited before: no event is too large by itself, or its reader would never get past it.
    if (waitingBytes > maxBufferedBytes) cut('too_slow');
    waitingBytes += lengthOf(data);
  });
  conn.on('flush', () => (waitingBytes = 0));

  function cut(reason: CloseReason): void {
    if (cutReason !== undefined) return;
    cutReason = reason;
    held = undefined;
    // Nothing more is heard either.
    conn.removeAllListeners('data');
    webSocket.close(CLOSE[reason].code, CLOSE[reason].reason);
    // A client that does not read does not answer either.
    const timer = setTimeout(() => webSocket.terminate(), CLOSE_TIMEOUT_MS);
    timer.unref();
    webSocket.once('close', () => clearTimeout(timer));
  }

  const unread = (): number => waitingBytes + webSocket.bufferedAmount;
  const isOpen = (): boolean => cutReason === undefined && conn.readyState === 'open';
  return {
    cut,
    isOpen,
    cutFor: () => cutReason,
    hold: () => void (held ??= []),
    pass(send) {
      passing = true;
      send();
      passing = false;
    },
    release() {
      const packets = held ?? [];
      held = undefined;
      heldBytes = 0;
      for (const packet of packets) conn.write(...packet);
    },
    isBehind: () => unread() > maxBufferedBytes / 2,
    async caughtUp(end) {
      // By more than what makes it behind, so that there is room for some more than one event.
      while (isOpen() && performance.now() < end) {
        if (unread() <= maxBufferedBytes / 4) return true;
        await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
      }
      return false;
    },
  };
}

function lengthOf(data: unknown): number {
  return typeof data === 'string' || Buffer.isBuffer(data) ? Buffer.byteLength(data) : 0;
}
