import { once } from 'node:events';
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type Koa from 'koa';
import { originForm } from './request-target.ts';
import { READING_PACE, watchReaders } from './slow-readers.ts';

/** Senders with long tokens and proxies with many hops stay below; beyond it they get a 431. */
const MAX_HEADER_BYTES = 64 * 1024;

/** What keeps its pace may take this long (see `body.ts`); requests beyond are cut. */
const MAX_REQUEST_MS = 300_000;

/** How long a refused sender may take to close its half of the connection. */
const CLOSE_MS = 5_000;

/** While draining: how often connections that have gone idle are closed. */
const IDLE_CHECK_MS = 100;

/** An HTTP server that knows which answers it still owes. */
export interface DrainableServer {
  server: Server;
  /**
   * Stops taking requests without dropping any: for `delayMs` connections are still accepted, while
   * load balancers notice that this process is not ready, and every answer asks its sender to connect
   * anew; then the listener closes, open requests are answered, and `closeUpgraded` closes what is no request any more.
   */
  drain(delayMs: number, closeUpgraded?: () => Promise<void>): Promise<void>;
}

/**
 * Serves `app`, not listening yet; upgrade requests that `takesUpgrade` are left to whoever listens for them.
 * Keep-alive outlasts the idle time-out of the usual load balancers (60 s), so that they and not this server
 * close first; slow senders and slow readers are cut.
 */
export function createHttpServer(
  app: Koa,
  takesUpgrade: (req: IncomingMessage) => boolean = () => false,
  readingPace = READING_PACE,
): DrainableServer {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: 75_000,
    headersTimeout: 10_000,
    requestTimeout: MAX_REQUEST_MS,
    connectionsCheckingInterval: 2_000,
    // Node would answer without a body, where nothing counts it; see `host.ts`.
    requireHostHeader: false,
    // A capture with an Upgrade header (h2c from a Java client, say) is a capture like any other.
    shouldUpgradeCallback: takesUpgrade,
  });
  // Node cuts off silently what is beyond the count; the size above is limit enough.
  server.maxHeadersCount = 0;
  // A sender that has said all it has to say may close its half of the connection, and still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  const open = new Set<ServerResponse>();
  const handle = app.callback();
  let draining = false;

  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    req.url = originForm(req.url ?? '/');
    open.add(res);
    res.on('close', () => open.delete(res));
    if (draining) askToReconnect(res);
    void handle(req, res);
  }
  server.on('request', onRequest);
  // The body readers decide whether a sender that asks first shall continue.
  server.on('checkContinue', onRequest);
  // Other expectations may be ignored (RFC 9110, section 10.1.1), and a capture must not be lost for one.
  server.on('checkExpectation', onRequest);
  const malformed = new WeakSet<Socket>();
  server.on('clientError', (error: ParserError, socket: Socket) => {
    // More of the same, or too late: its answer waits for those before it, or is on its way.
    if (malformed.has(socket)) return void (socket.writableEnded && socket.destroy());
    malformed.add(socket);
    void answerMalformed(
      socket,
      [...open].filter((res) => res.req.socket === socket),
      error,
    );
  });
  const readers = watchReaders(open, readingPace);
  server.on('close', () => readers.stop());

  return {
    server,
    async drain(delayMs, closeUpgraded = async () => {}) {
      draining = true;
      for (const res of open) askToReconnect(res);
      if (delayMs > 0) await sleep(delayMs);
      const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      });
      await Promise.all([closed, closeUpgraded()]);
      clearInterval(idle);
    },
  };
}

function askToReconnect(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}

interface ParserError extends Error {
  code?: string;
}

/** Answers what Node's parser refuses, after the whole requests that came before it on the same connection. */
async function answerMalformed(socket: Socket, open: ServerResponse[], error: ParserError): Promise<void> {
  // It would be taken for the rest of an answer that has begun.
  if (open.some((res) => res.headersSent && !res.req.complete)) return void socket.destroy();
  await Promise.all(open.filter(({ req }) => req.complete).map((res) => once(res, 'close')));
  answerBadRequest(error, socket);
}

/** What Node's parser refuses never reaches Koa; its sender gets an error in JSON all the same. */
function answerBadRequest(error: ParserError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  socket.setTimeout(CLOSE_MS, () => socket.destroy());
  const status = statusOf(error.code);
  const body = JSON.stringify({ error: MESSAGES[status] });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const MESSAGES = {
  400: 'This is not an HTTP/1.1 request that can be read here',
  408: 'The request did not arrive in time',
  413: 'The chunk extensions of the body are too large',
  431: `The headers are larger than ${MAX_HEADER_BYTES} bytes`,
};

function statusOf(code: string | undefined): keyof typeof MESSAGES {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
}
