import { isHttpError } from 'http-errors';
import type { ExtendedError, Socket } from 'socket.io';
import { verifyToken, type AuthOptions, type Principal } from '../auth/token.ts';

/** A handshake that is refused for good: the client reads the message in `connect_error`, and more in `data.error`. */
export class Refusal extends Error implements ExtendedError {
  readonly data: { error: string };

  constructor(message: 'unauthorized' | 'forbidden' | 'too many connections' | 'try again', description: string) {
    super(message);
    this.data = { error: description };
  }
}

/**
 * The owner of a socket, by the token in `auth.token`. Expiry has no tolerance here: the socket would be cut at once.
 * @throws Refusal; other errors when the token cannot be verified now
 */
export async function principalOf(socket: Socket, auth: AuthOptions): Promise<Principal> {
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
