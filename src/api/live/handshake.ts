import { isHttpError } from 'http-errors';
import type { Socket } from 'socket.io';
import { withDeadline } from '../../deadline.ts';
import { userRoom } from '../../domain/live-event.ts';
import { describeError, type Log } from '../../log.ts';
import type { Listening } from '../../redis/listening.ts';
import { verifyToken, type AuthOptions, type Principal } from '../auth/token.ts';
import { Refusal } from './handshake-error.ts';
import type { Sessions } from './sessions.ts';

/** Time limit for saving the user's plan. Only captures need it, so a database that hangs refuses no socket. */
const SAVE_PLAN_MS = 2_000;

export interface AdmissionOptions {
  sessions: Sessions;
  listening: Listening;
  auth: AuthOptions;
  log: Log;
}

/**
 * The middleware that admits or refuses a socket by its token and the number of its user's connections; whether the
 * process takes connections at all is decided before (`server.ts`).
 */
export function createAdmission({ sessions, listening, auth, log }: AdmissionOptions) {
  return async (socket: Socket, next: (error?: Error) => void): Promise<void> => {
    try {
      await admit(socket);
      next();
    } catch (error) {
      if (error instanceof Refusal) return next(error);
      log.warn({ error: describeError(error) }, 'A socket cannot be admitted now');
      // A temporary fault closes the connection, so that the client tries again.
      sessions.of(socket.conn)?.connection.cut('interrupted');
      next(new Refusal('try again', 'This cannot be done now'));
    }
  };

  /** Joins a socket to its user's room: every event that is published after `connect` is received. */
  async function admit(socket: Socket): Promise<void> {
    const principal = await principalOf(socket, auth);
    sessions.admit(socket.conn, principal);
    await withDeadline(SAVE_PLAN_MS, auth.rememberPlan(principal.userId, principal.plan.name)).catch((error: unknown) =>
      log.warn({ error: describeError(error) }, 'Plan not saved'),
    );
    await socket.join(userRoom(principal.userId));
    await listening.settled();
  }
}

/**
 * The owner of a socket, by the token in `auth.token`. Expiry has no tolerance here: the socket would be cut at once.
 * @throws Refusal; other errors when the token cannot be verified now
 */
async function principalOf(socket: Socket, auth: AuthOptions): Promise<Principal> {
  const token: unknown = socket.handshake.auth['token'];
  if (typeof token !== 'string') throw new Refusal('unauthorized', 'Send a token as auth.token');
  const principal = await verified(token, auth);
  if (principal.expiresAt <= Date.now()) throw new Refusal('unauthorized', 'The token has expired');
  return principal;
}

async function verified(token: string, auth: AuthOptions): Promise<Principal> {
  try {
    return await verifyToken(token, auth);
  } catch (error) {
    if (isHttpError(error) && error.status === 401) throw new Refusal('unauthorized', error.message);
    if (isHttpError(error) && error.status === 403) throw new Refusal('forbidden', error.message);
    throw error;
  }
}
