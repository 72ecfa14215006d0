import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredRequest } from '../../domain/captured-request.ts';
import { withDeadline } from '../../deadline.ts';
import { matches, TEXT_MAX_BODY_BYTES, type Filter } from '../../domain/filter.ts';
import type { Database } from '../../store/database.ts';
import { measureWindow, type WindowEntry } from '../../store/export.ts';
import { findBody, readPage, type Reader } from '../../store/requests.ts';
import { createTurns } from '../../turns.ts';
import type { ByteBudget, Owner } from '../http/byte-budget.ts';

/** Entries that are measured at once, and bytes that are read at once. */
const WINDOW_ENTRIES = 1_000;
export const PAGE_BYTES = 2 * 1024 * 1024;

/** A longer body is read when it is its turn; in this length the filter looks for text. */
const PAGE_MAX_BODY_BYTES = TEXT_MAX_BODY_BYTES;

const ENTRY_BYTES = 1024;

/** Longer than a slow query. */
const READ_DEADLINE_MS = 15_000;

const MEMORY_WAIT_MS = 10_000;
const MEMORY_RETRY_MS = 50;

export interface EntrySource {
  db: Database;
  reader: Reader;
  endpointId: string;
  filter: Filter;
  after: number;
  upTo: number;
  answers: ByteBudget;
  owner: Owner;
  /** Runs a query when it is its turn: exports leave connections to others. */
  queued: <T>(query: () => Promise<T>) => Promise<T>;
}

/** A `seq` that was looked at, with the entry if it is wanted. */
export interface Step {
  seq: number;
  request?: StoredRequest;
}

/**
 * The entries that match, in the order of `seq`, complete. Ends early, without a step for `upTo`, when there is no
 * memory for a large body.
 */
export async function* entriesOf(source: EntrySource): AsyncGenerator<Step> {
  const { db, reader, endpointId, upTo, filter } = source;
  for (let { after } = source; after < upTo;) {
    const window = { after, upTo, limit: WINDOW_ENTRIES, filter };
    const measured = await read(source, () => measureWindow(db.knex, reader, endpointId, window));
    const { methods } = filter;
    const wanted = measured.filter(({ method }) => methods === undefined || methods.includes(method));
    for (const page of pagesOf(wanted)) {
      if (!(yield* entriesOfPage(source, page))) return;
    }
    after = measured.at(-1)?.seq ?? upTo;
    yield { seq: after };
  }
}

/** @returns false when there is no memory for a large body */
async function* entriesOfPage(source: EntrySource, page: WindowEntry[]): AsyncGenerator<Step, boolean> {
  const ids = page.map(({ id }) => id);
  const rows = await read(source, () => readPage(source.db.knex, source.reader, ids, PAGE_MAX_BODY_BYTES));
  const turn = createTurns();
  for (const request of rows.toSorted((a, b) => a.seq - b.seq)) {
    const { seq } = request;
    await turn();
    if (!matches(source.filter, request)) yield { seq };
    else if (request.size <= PAGE_MAX_BODY_BYTES) yield { seq, request };
    else if (!(yield* largeEntry(source, request))) return false;
  }
  return true;
}

async function* largeEntry(source: EntrySource, request: StoredRequest): AsyncGenerator<Step, boolean> {
  const holding = source.answers.open(source.owner);
  try {
    const giveUp = performance.now() + MEMORY_WAIT_MS;
    while (!holding.take(request.size)) {
      if (performance.now() > giveUp) return false;
      await sleep(MEMORY_RETRY_MS);
    }
    const body = await read(source, () => findBody(source.db.knex, source.reader, request.id));
    // Otherwise it was deleted meanwhile.
    if (body !== undefined) yield { seq: request.seq, request: { ...request, body } };
    return true;
  } finally {
    holding.release();
  }
}

function read<T>({ queued }: EntrySource, query: () => Promise<T>): Promise<T> {
  return queued(() => withDeadline(READ_DEADLINE_MS, query()));
}

/** Parts of a window that are read at once. */
function* pagesOf(window: WindowEntry[]): Generator<WindowEntry[]> {
  let page: WindowEntry[] = [];
  let bytes = 0;
  for (const entry of window) {
    const length = ENTRY_BYTES + entry.rest + Math.min(entry.size, PAGE_MAX_BODY_BYTES);
    if (page.length > 0 && bytes + length > PAGE_BYTES) {
      yield page;
      [page, bytes] = [[], 0];
    }
    page.push(entry);
    bytes += length;
  }
  if (page.length > 0) yield page;
}
