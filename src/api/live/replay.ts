import pLimit from 'p-limit';
import type { Socket } from 'socket.io';
import { withDeadline } from '../../deadline.ts';
import { presentRequest } from '../../domain/log-entry.ts';
import { isBrief, REQUEST_EVENT } from '../../domain/live-event.ts';
import type { Database } from '../../store/database.ts';
import { listRequestsAfter, type Reader } from '../../store/requests.ts';
import { createTurns } from '../../turns.ts';
import type { LiveConnection } from './connection.ts';

const REPLAY_MAX = 1_000;

/** Entries that one query reads: with the largest bodies of events some megabytes. */
const REPLAY_PAGE = 20;

/** When a slow client has used this up, the acknowledgement's `more` is true. */
const REPLAY_BUDGET_MS = 30_000;

/** Pages that a process reads at the same time: each is in memory until it is sent. */
const PAGES_AT_ONCE = 32;

/** A database that hangs (and does not refuse) would hold a socket's live events back without end. */
export const QUERY_DEADLINE_MS = 5_000;

export type ReplayLimit = ReturnType<typeof createReplayLimit>;

export function createReplayLimit() {
  return pLimit(PAGES_AT_ONCE);
}

export interface Replaying {
  socket: Socket;
  connection: LiveConnection;
  endpointId: string;
  /** Where bodies end, as in the live events that follow. */
  bodyBytes: number;
  reader: Reader;
  db: Database;
  replayLimit: ReplayLimit;
  onReplayed: (count: number) => void;
}

/** How many entries were sent, the `seq` of the last one, and whether none is left. */
export interface Replayed {
  replayed: number;
  last: number;
  complete: boolean;
}

/** Sends the entries after `after`, in order, as fast as the client reads. */
export async function replay(replaying: Replaying, after: number): Promise<Replayed> {
  const { connection, replayLimit } = replaying;
  const end = performance.now() + REPLAY_BUDGET_MS;
  let replayed = 0;
  let last = after;
  // Waits for the client outside the limit: a client that does not read must not delay others.
  while (replayed < REPLAY_MAX && (await connection.caughtUp(end))) {
    const limit = Math.min(REPLAY_PAGE, REPLAY_MAX - replayed);
    const page = await replayLimit(() => replayPage(replaying, last, limit));
    replayed += page.sent;
    last = page.last;
    if (page.complete) return { replayed, last, complete: true };
  }
  return { replayed, last, complete: false };
}

/** Sends a page of the entries after `after`, or a part of it when the client falls behind. */
async function replayPage(
  replaying: Replaying,
  after: number,
  limit: number,
): Promise<Omit<Replayed, 'replayed'> & { sent: number }> {
  const { socket, connection, endpointId, bodyBytes, reader, db, onReplayed } = replaying;
  const wanted = { after, limit, maxBody: bodyBytes, cutsBodies: isBrief(bodyBytes) };
  const page = await withDeadline(QUERY_DEADLINE_MS, listRequestsAfter(db.knex, reader, endpointId, wanted));
  let sent = 0;
  let last = after;
  const turn = createTurns();
  for (const row of page) {
    await turn();
    if (connection.isBehind()) break;
    connection.pass(() => socket.emit(REQUEST_EVENT, presentRequest(row)));
    sent += 1;
    last = row.seq;
  }
  onReplayed(sent);
  return { sent, last, complete: page.length < limit && sent === page.length };
}
