import { once } from 'node:events';
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type Koa from 'koa';
import { createRoster } from '../../roster.ts';
import { CAPTURE_HEADERS } from './capture-headers.ts';
import { originForm } from './request-target.ts';
import { READING_PACE, watchReaders } from './slow-readers.ts';

/** Enough for long tokens and many proxies; larger headers get a 431. */
const MAX_HEADER_BYTES = 64 * 1024;

/** The limit for requests that keep the pace (see `body.ts`); longer ones are cut. */
const MAX_REQUEST_MS = 300_000;

/** How long a refused sender may take to close its half of the connection. */
const CLOSE_MS = 5_000;

const IDLE_CHECK_MS = 100;

export interface DrainableServer {
  server: Server;
  /**
   * Stops without dropping a request: for `delayMs` connections are still accepted, while load balancers notice that
   * this process is not ready, and each answer closes its connection. Then the listener closes, open requests are
   * answered, and `closeUpgraded` closes upgraded connections.
   */
  drain(delayMs: number, closeUpgraded?: () => Promise<void>): Promise<void>;
}

/**
 * Serves `app`, not listening yet; upgrade requests for which `acceptsUpgrade` is true are left to other listeners of
 * the server.
 * Keep-alive outlasts the idle time-out of the usual load balancers (60 s), so they close first; slow senders and slow
 * readers are cut.
 */
export function createHttpServer(
  app: Koa,
  acceptsUpgrade: (req: IncomingMessage) => boolean = () => false,
  readingPace = READING_PACE,
): DrainableServer {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: 75_000,
    headersTimeout: 10_000,
    requestTimeout: MAX_REQUEST_MS,
    connectionsCheckingInterval: 2_000,
    // Node would answer without a body and without metrics; see `host.ts`.
    requireHostHeader: false,
    // A capture with an Upgrade header (h2c from a Java client, for example) is an ordinary capture.
    shouldUpgradeCallback: acceptsUpgrade,
  });
  // Node drops headers beyond the count silently; the limit on their size is enough.
  server.maxHeadersCount = 0;
  // A sender may close its half of the connection after the request, and still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  const open = createRoster<ServerResponse>();
  const handle = app.callback();
  let draining = false;

  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    req.url = originForm(req.url ?? '/');
    res.on('close', open.add(res));
    if (draining) setConnectionClose(res);
    void handle(req, res);
  }
  server.on('request', onRequest);
  // The body readers decide when to answer `Expect: 100-continue`.
  server.on('checkContinue', onRequest);
  // Other expectations may be ignored (RFC 9110, section 10.1.1): no capture should be lost because of one.
  server.on('checkExpectation', onRequest);
  const malformed = new WeakSet<Socket>();
  server.on('clientError', (error: ParserError, socket: Socket) => {
    // A repeated error, or a late one: the answer is queued behind others, or already sent.
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
      for (const res of open) setConnectionClose(res);
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

function setConnectionClose(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}

interface ParserError extends Error {
  code?: string;
}

/** Answers what Node's parser refuses, after the complete requests before it on the same connection. */
async function answerMalformed(socket: Socket, open: ServerResponse[], error: ParserError): Promise<void> {
  // The client would read it as the rest of an answer that has begun.
  if (open.some((res) => res.headersSent && !res.req.complete)) return void socket.destroy();
  await Promise.all(open.filter(({ req }) => req.complete).map((res) => once(res, 'close')));
  answerBadRequest(error, socket);
}

/** Requests that Node's parser refuses never reach Koa; the sender gets a JSON error all the same. */
function answerBadRequest(error: ParserError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  socket.setTimeout(CLOSE_MS, () => socket.destroy());
  const status = statusOf(error.code);
  const body = JSON.stringify({ error: MESSAGES[status] });
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    // The path is unknown: it may be below `/h`.
    ...CAPTURE_HEADERS,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
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
