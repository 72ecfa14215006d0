import type { Socket } from 'socket.io';
import { isHttpError } from 'http-errors';
import { describeError, type Log } from '../../log.ts';
import { watchToken } from '../auth/token-watch.ts';
import type { AuthOptions, Principal } from '../auth/token.ts';
import type { LiveConnection } from './connection.ts';
import type { MessageLimit } from './message-limit.ts';
import { createSubscriptions, type SubscriptionOptions } from './subscriptions.ts';

export interface SessionOptions extends SubscriptionOptions {
  auth: AuthOptions;
  tokenRecheckMs: number;
  log: Log;
}

type Acknowledge = (answer: object) => void;

/** Handles a socket's messages, one after another, and closes it when its token expires. */
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
    // A flood closes the connection before this: every message also counts as a packet (`server.ts`).
    if (limit.take() === 'allowed') next();
    else acknowledgeOf(args)?.({ error: limit.explanation });
  });
  // A client that disconnects the socket and keeps the connection would outlive its token there.
  socket.once('disconnect', () => socket.conn.close());
  socket.on('subscribe', (...args: unknown[]) =>
    runInOrder(() => answer(args, (message) => subscriptions.subscribe(message))),
  );
  socket.on('unsubscribe', (...args: unknown[]) =>
    runInOrder(() => answer(args, (message) => subscriptions.unsubscribe(message))),
  );
  const token = socket.handshake.auth['token'] as string;
  const { auth, tokenRecheckMs: recheckMs } = options;
  const end = watchToken({ token, expiresAt: principal.expiresAt, auth, recheckMs }, () =>
    connection.cut('unauthorized'),
  );
  socket.once('disconnect', end);

  /** Runs messages one by one, so that each sees the rooms that the previous one left. */
  function runInOrder(work: () => Promise<void>): void {
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
    // The acknowledgement follows the replay, and precedes the live events that were held back meanwhile.
    connection.pass(() => acknowledgeOf(args)?.(result));
    connection.release();
  }

  function messageOf(error: unknown): string {
    if (isHttpError(error) && error.expose) return error.message;
    options.log.warn({ error: describeError(error) }, 'A subscription failed');
    return 'This cannot be done now; try again';
  }
}

function acknowledgeOf(args: unknown[]): Acknowledge | undefined {
  const last = args.at(-1);
  return typeof last === 'function' ? (last as Acknowledge) : undefined;
}
