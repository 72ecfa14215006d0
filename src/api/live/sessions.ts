import type { CloseReason } from '../../domain/live-event.ts';
import type { Principal } from '../auth/token.ts';
import type { Conn, LiveConnection } from './connection.ts';
import { Refusal } from './handshake-error.ts';
import type { MessageLimit } from './message-limit.ts';

/** A connection's state; the principal is set by its handshake. */
export interface Session {
  connection: LiveConnection;
  limit: MessageLimit;
  principal?: Principal;
}

/** The connections of a process, and their number by user. */
export interface Sessions {
  open(conn: Conn, session: Session): void;
  of(conn: Conn): Session | undefined;
  all(): Session[];
  count(): number;
  /** @throws Refusal for a second handshake, and when the user has too many connections */
  admit(conn: Conn, principal: Principal): void;
  /** Removes a connection; returns why it was cut, or `client` when the client closed it. */
  close(conn: Conn): CloseReason | 'client';
}

export function createSessions(maxOfUser: number): Sessions {
  const sessions = new Map<Conn, Session>();
  const countOfUser = new Map<string, number>();

  return {
    open: (conn, session) => void sessions.set(conn, session),
    of: (conn) => sessions.get(conn),
    all: () => [...sessions.values()],
    count: () => sessions.size,
    admit(conn, principal) {
      const session = sessions.get(conn);
      if (session === undefined || session.principal !== undefined)
        throw new Refusal('unauthorized', 'A connection has one handshake');
      const others = countOfUser.get(principal.userId) ?? 0;
      if (others >= maxOfUser)
        throw new Refusal(
          'too many connections',
          `You have ${others} connections to this process, which is the maximum`,
        );
      countOfUser.set(principal.userId, others + 1);
      session.principal = principal;
    },
    close(conn) {
      const session = sessions.get(conn);
      sessions.delete(conn);
      const userId = session?.principal?.userId;
      if (userId !== undefined) {
        const left = (countOfUser.get(userId) ?? 1) - 1;
        if (left === 0) countOfUser.delete(userId);
        else countOfUser.set(userId, left);
      }
      return session?.connection.closeReason() ?? 'client';
    },
  };
}
