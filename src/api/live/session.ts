import type { Socket } from 'socket.io';
import { isHttpError } from 'http-errors';
import { describeError, type Log } from '../../log.ts';
import { verifyToken, type AuthOptions, type Principal } from '../auth/token.ts';
import type { LiveConnection } from './connection.ts';
import type { MessageLimit } from './message-limit.ts';
import { createSubscriptions, type SubscriptionOptions } from './subscriptions.ts';

/**
 * Tokens are checked again about this often; with the age of keys (`keys.ts`) a withdrawn key is out within a minute.
 */
export const TOKEN_RECHECK_MS = 20_000;

export interface SessionOptions extends SubscriptionOptions {
  auth: AuthOptions;
  tokenRecheckMs: number;
  log: Log;
}

type Acknowledge = (answer: object) => void;

/** Answers a socket's messages, one after another, and ends it with its token. */
export function serveSocket(
  socket: Socket,
  connection: LiveConnection,
  limit: MessageLimit,
  principal: Principal,
  options: SessionOptions,
): void {
  const subscriptions = createSubscriptions(socket, connection, principal, options);
  let last: Promise<void> = Promise.resolve();

  socket.use(([, ...args], next) => {
    // A flood was ended before: it is one of packets, too (`live.ts`).
    if (limit.take() === 'allowed') next();
    else acknowledgeOf(args)?.({ error: limit.explanation });
  });
  // A client that leaves and keeps its connection would outlive its token there.
  socket.once('disconnect', () => socket.conn.close());
  socket.on('subscribe', (...args: unknown[]) =>
    inTurn(() => answer(args, (message) => subscriptions.subscribe(message))),
  );
  socket.on('unsubscribe', (...args: unknown[]) =>
    inTurn(() => answer(args, (message) => subscriptions.unsubscribe(message))),
  );
  watchToken(socket, connection, principal.expiresAt, options);

  /** Each message sees the rooms as the one before left them. */
  function inTurn(work: () => Promise<void>): void {
    const before = last;
    last = (async () => {
      await before;
      await work();
    })();
  }

  async function answer(args: unknown[], work: (message: unknown) => Promise<object>): Promise<void> {
    let result: object;
    try {
      result = await work(args[0]);
    } catch (error) {
      result = { error: messageOf(error) };
    }
    // The answer ends what was replayed, and comes before the live events that waited meanwhile.
    connection.pass(() => acknowledgeOf(args)?.(result));
    connection.release();
  }

  function messageOf(error: unknown): string {
    if (isHttpError(error) && error.expose) return error.message;
    options.log.warn({ error: describeError(error) }, 'A subscription failed');
    return 'This cannot be done now; try again';
  }
}

/** Clients may leave the acknowledgement out. */
function acknowledgeOf(args: unknown[]): Acknowledge | undefined {
  const last = args.at(-1);
  return typeof last === 'function' ? (last as Acknowledge) : undefined;
}

/** Cuts at the token's end, and when its key is not known any more. */
function watchToken(socket: Socket, connection: LiveConnection, expiresAt: number, options: SessionOptions): void {
  const pause = options.tokenRecheckMs * (0.75 + Math.random() / 4);
  const timer = setTimeout(() => void check(), Math.max(0, Math.min(pause, expiresAt - Date.now())));
  timer.unref();
  const stop = (): void => clearTimeout(timer);
  socket.once('disconnect', stop);

  async function check(): Promise<void> {
    socket.off('disconnect', stop);
    if (Date.now() >= expiresAt || (await isWithdrawn())) connection.cut('unauthorized');
    else if (socket.connected) watchToken(socket, connection, expiresAt, options);
  }

  async function isWithdrawn(): Promise<boolean> {
    try {
      await verifyToken(socket.handshake.auth['token'] as string, options.auth);
      return false;
    } catch (error) {
      // A key server that is away withdraws nothing.
      return isHttpError(error) && error.status < 500;
    }
  }
}
