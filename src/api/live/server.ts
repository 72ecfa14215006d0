import type { IncomingMessage, Server as HttpServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Server } from 'socket.io';
import type { LiveConfig } from '../../config.ts';
import type { Log } from '../../log.ts';
import { liveAdapter, watchSubscriber } from '../../redis/live-channels.ts';
import type { ApiMetrics } from '../metrics.ts';
import type { Database } from '../../store/database.ts';
import { TOKEN_RECHECK_MS } from '../auth/token-watch.ts';
import type { AuthOptions } from '../auth/token.ts';
import { createLiveConnection, type Conn, type WebSocketLike } from './connection.ts';
import { createAdmission } from './handshake.ts';
import { createMessageLimit } from './message-limit.ts';
import { serveSocket } from './session.ts';
import { createReplayLimit } from './replay.ts';
import { createSessions, type Session, type Sessions } from './sessions.ts';

const PATH = '/socket.io/';

/** Subscriptions are small; a larger frame closes the connection with WebSocket's 1009. */
const MAX_FRAME_BYTES = 16 * 1024;

const HANDSHAKE_MS = 10_000;

/** While draining, sockets are closed in slices, so that their clients do not all reconnect at the same moment. */
const DRAIN_SLICES = 16;
const DRAIN_MIN_SLICE = 25;
const DRAIN_PAUSE_MS = 250;
const DRAIN_LAST_WAIT_MS = 2_000;
const DRAIN_POLL_MS = 20;

export interface Live {
  /** Whether an upgrade request is for Socket.IO; any other is handled as an ordinary request. */
  acceptsUpgrade(req: IncomingMessage): boolean;
  /** Connections to this process, before and after their handshakes. */
  connections(): number;
  /** Refuses new connections and closes the open ones in slices; resolves when all are closed. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

export interface LiveOptions extends LiveConfig {
  http: HttpServer;
  db: Database;
  publisher: Redis;
  subscriber: Redis;
  prefix: string;
  auth: AuthOptions;
  metrics: ApiMetrics;
  log: Log;
  tokenRecheckMs?: number;
}

export function startLive(options: LiveOptions): Live {
  const { http, db, publisher, subscriber, prefix, auth, metrics, log, tokenRecheckMs = TOKEN_RECHECK_MS } = options;
  const sessions = createSessions(options.maxSocketsPerUser);
  const webSockets = new Set<WebSocketLike>();
  let draining = false;

  // Events that are published while this process cannot receive them are lost: clients have to reconnect and catch up.
  const listening = watchSubscriber(subscriber, prefix, log, () => {
    for (const { connection } of sessions.all()) connection.cut('interrupted');
  });
  const io = new Server(http, {
    path: PATH,
    transports: ['websocket'],
    serveClient: false,
    destroyUpgrade: false,
    maxHttpBufferSize: MAX_FRAME_BYTES,
    connectTimeout: HANDSHAKE_MS,
    // A client retries after a refusal here, but not after one by a middleware.
    allowRequest: (_req, answer) => (draining || !listening.isUp() ? answer('try again', false) : answer(null, true)),
    adapter: liveAdapter(publisher, subscriber, prefix),
  });
  const onReplayed = (count: number): void => metrics.replayedEvents.inc(count);
  const serving = { db, listening, auth, tokenRecheckMs, log, replayLimit: createReplayLimit(), onReplayed };
  metrics.onScrape(() => metrics.sockets.set(sessions.count()));

  io.engine.use(refuseSessionIds);
  io.engine.on('connection', (conn: Conn) => {
    const webSocket = openSession(sessions, conn, options);
    // A connection may be closed while its peer keeps the WebSocket below it open.
    webSockets.add(webSocket);
    webSocket.once('close', () => webSockets.delete(webSocket));
  });
  const admit = createAdmission({ sessions, listening, auth, log });
  io.use((socket, next) => void admit(socket, next));
  io.on('connection', (socket) => {
    const { connection, limit, principal } = sessions.of(socket.conn) ?? {};
    if (connection !== undefined && limit !== undefined && principal !== undefined)
      serveSocket(socket, connection, limit, principal, serving);
  });

  return {
    acceptsUpgrade: (req) => req.url?.startsWith(PATH) === true,
    connections: () => webSockets.size,
    async drain() {
      draining = true;
      await drainSessions(sessions.all(), webSockets);
    },
    async close() {
      listening.stop();
      await io.close();
    },
  };
}

/** Bounds what a connection may send and what may wait for it; returns its WebSocket. */
function openSession(sessions: Sessions, conn: Conn, { maxBufferedBytes, metrics }: LiveOptions): WebSocketLike {
  const { websocket } = conn.request as IncomingMessage & { websocket: WebSocketLike };
  const connection = createLiveConnection(conn, websocket, maxBufferedBytes);
  sessions.open(conn, { connection, limit: createMessageLimit() });
  // Counts every packet, including handshakes and WebSocket pings; only messages get an error in their acknowledgement.
  const packets = createMessageLimit();
  const count = (): void => void (packets.take() === 'flood' && connection.cut('too_many_messages'));
  conn.on('packet', count);
  websocket.on('ping', count);
  conn.on('close', () => metrics.socketCloses.inc({ reason: sessions.close(conn) }));
  // The handshake's request takes some kilobytes and is not needed any more.
  (conn as { request: unknown }).request = null;
  return websocket;
}

async function drainSessions(open: readonly Session[], webSockets: ReadonlySet<WebSocketLike>): Promise<void> {
  const slice = Math.max(DRAIN_MIN_SLICE, Math.ceil(open.length / DRAIN_SLICES));
  for (let start = 0; start < open.length; start += slice) {
    if (start > 0) await sleep(DRAIN_PAUSE_MS);
    for (const { connection } of open.slice(start, start + slice)) connection.cut('restarting');
  }
  const end = performance.now() + DRAIN_LAST_WAIT_MS;
  while (webSockets.size > 0 && performance.now() < end) await sleep(DRAIN_POLL_MS);
  for (const webSocket of webSockets) webSocket.terminate();
}

/** A request with a session id asks for another transport of that session, or for polling; it would stay unanswered. */
function refuseSessionIds({ url }: IncomingMessage, _res: unknown, next: (error?: Error) => void): void {
  const namesSession = new URL(url ?? '', 'http://localhost').searchParams.has('sid');
  next(namesSession ? new Error('There are no transports to change between') : undefined);
}
