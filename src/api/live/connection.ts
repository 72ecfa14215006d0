import type { Socket } from 'socket.io';
import { CLOSE, type CloseReason } from '../../domain/live-event.ts';

export type Conn = Socket['conn'];

export interface WebSocketLike {
  /** Bytes that the operating system has not accepted yet. */
  readonly bufferedAmount: number;
  close(code: number, reason: string): void;
  terminate(): void;
  once(event: 'close', listener: () => void): unknown;
  on(event: 'ping', listener: () => void): unknown;
}

/** How long a client may take to answer the close frame. */
const CLOSE_TIMEOUT_MS = 10_000;

const DRAIN_POLL_MS = 20;

/** The outgoing side of a connection: bounded, and able to hold packets back. */
export interface LiveConnection {
  /** Closes with a code, so the client reconnects automatically; after Socket.IO's `disconnect` it would not. */
  cut(reason: CloseReason): void;
  /** Holds back what is sent from now on until `release`, except within `pass`. */
  hold(): void;
  pass(send: () => void): void;
  release(): void;
  /** Whether so many bytes wait that the client should be given time to read. */
  isBehind(): boolean;
  /** True when the client has read most of what was sent; false when it disconnects, or at `end` (monotonic ms). */
  caughtUp(end: number): Promise<boolean>;
  isOpen(): boolean;
  closeReason(): CloseReason | undefined;
}

/**
 * Takes over the writes of a connection. A broadcast to a room goes directly to the connection, past anything that a
 * Socket.IO socket offers to hold or count it.
 * @param maxBufferedBytes that may wait for the client before one more event; above it the connection is cut
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
  // A created packet waits until the connection takes it (`flush`), when the previous packets are sent.
  conn.on('packetCreate', ({ data }: { data?: unknown }) => {
    // Counts only earlier packets: a single event is never too large, otherwise its reader could not get past it.
    if (waitingBytes > maxBufferedBytes) cut('too_slow');
    waitingBytes += lengthOf(data);
  });
  conn.on('flush', () => (waitingBytes = 0));

  function cut(reason: CloseReason): void {
    if (cutReason !== undefined) return;
    cutReason = reason;
    held = undefined;
    conn.removeAllListeners('data');
    webSocket.close(CLOSE[reason].code, CLOSE[reason].reason);
    // A client that does not read does not answer the close frame either.
    const timer = setTimeout(() => webSocket.terminate(), CLOSE_TIMEOUT_MS);
    timer.unref();
    webSocket.once('close', () => clearTimeout(timer));
  }

  const unread = (): number => waitingBytes + webSocket.bufferedAmount;
  const isOpen = (): boolean => cutReason === undefined && conn.readyState === 'open';
  return {
    cut,
    isOpen,
    closeReason: () => cutReason,
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
      // Below the threshold of `isBehind`, so that there is room for more than one event.
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
