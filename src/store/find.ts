import { isTrivial, skipsBody, type Filter } from '../domain/filter.ts';
import type { StoredRequest } from '../domain/captured-request.ts';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import type { Database } from './database.ts';
import { matchExactly, matchInSql } from './match.ts';
import { readPage, type PageEntry, type Reader } from './requests.ts';
import { isOverTime } from './sql-errors.ts';
import {
  BY_SEQ,
  FIRST_KEY,
  NEWEST_FIRST,
  batches,
  bytesToSearch,
  older,
  readWindow,
  scopeOf,
  type Place,
  type Scope,
  type WindowRow,
} from './window.ts';

/* One scan ends at the first of these; it says where to go on. */
const MAX_ROWS = 50_000;
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_MS = 1_500;

/** A scan starts with a small window: a common text is found at once. */
const FIRST_WINDOW_ROWS = 100;
const WINDOW_ROWS = 1_000;

/** Entries and bytes of bodies that are in memory for the exact check; not fewer, where most of them fail it. */
const MIN_CHECKED_ROWS = 20;
const CHECKED_ROWS = 100;
const CHECKED_BYTES = 4 * 1024 * 1024;

export interface ScanOptions {
  limit: number;
  /** Ends the scan after the statement that runs. */
  signal?: AbortSignal | undefined;
}

interface Scan {
  /** How many entries were looked at, and how many bodies were too long for that. */
  scanned: number;
  bodySkipped: number;
  /** Whether nothing is left to look at. */
  done: boolean;
}

export interface ScanBack extends Scan {
  entries: PageEntry[];
  /** The id of the last entry that was looked at; undefined when there was none. */
  last: string | undefined;
}

export interface ScanForward extends Scan {
  requests: StoredRequest[];
  /** The `seq` up to which everything was looked at. */
  last: number;
}

/**
 * Looks for entries of a user's endpoint, newest first and older than `before`, within the bounds of one scan.
 * @throws the database's error, also when not even the first statement ended in time
 */
export async function scanBack(
  db: Database,
  reader: Reader,
  endpointId: string,
  filter: Filter,
  { before, ...options }: ScanOptions & { before?: string | undefined },
): Promise<ScanBack> {
  const scope = scopeOf(db, reader, endpointId, filter, NEWEST_FIRST);
  const start = before === undefined ? scope.below : older(idToBytes(before), scope.below);
  const { hits, last, ...scan } = await run(scope, { id: start, seq: 0 }, options);
  return { ...scan, entries: hits, last: scan.scanned === 0 ? undefined : bytesToId(last.id) };
}

/**
 * Looks for entries of a user's endpoint with a `seq` greater than `after`, in that order, which is the order of
 * commits, within the bounds of one scan. Bodies are cut after `maxBody` bytes; the caller bounds `limit` times
 * `maxBody`, and how many scans run at the same time.
 * @throws the database's error, also when not even the first statement ended in time
 */
export async function scanForward(
  db: Database,
  reader: Reader,
  endpointId: string,
  filter: Filter,
  { after, maxBody, ...options }: ScanOptions & { after: number; maxBody: number },
): Promise<ScanForward> {
  const scope = scopeOf(db, reader, endpointId, filter, BY_SEQ);
  const { hits, last, ...scan } = await run(scope, { id: FIRST_KEY, seq: after }, options);
  const ids = hits.map(({ id }) => id);
  const requests = await readPage(db.knex, reader, ids, maxBody);
  return { ...scan, requests: requests.toSorted((a, b) => a.seq - b.seq), last: last.seq };
}

interface Found extends Scan {
  hits: PageEntry[];
  last: Place;
}

async function run(scope: Scope, start: Place, { limit, signal }: ScanOptions): Promise<Found> {
  const end = performance.now() + MAX_MS;
  const found: Found = { hits: [], last: start, scanned: 0, bodySkipped: 0, done: false };
  let bytes = 0;
  const isOver = (): boolean =>
    found.hits.length >= limit ||
    found.scanned >= MAX_ROWS ||
    bytes >= MAX_BYTES ||
    performance.now() >= end ||
    signal?.aborted === true;
  try {
    for (let size = FIRST_WINDOW_ROWS; ; size = WINDOW_ROWS) {
      const window = await readWindow(scope, found.last, size);
      for (const batch of batches(scope.filter, window)) {
        await searchBatch(scope, batch, limit, found);
        bytes += bytesToSearch(scope.filter, batch);
        if (isOver()) break;
      }
      found.done = window.length < size && (window.at(-1) ?? found.last).id.equals(found.last.id);
      if (found.done || isOver()) return found;
    }
  } catch (error) {
    // What was looked at before is still an answer.
    if (isOverTime(error) && found.scanned > 0) return found;
    throw error;
  }
}

/** Adds the batch's hits to `found`, up to the limit, and how far it came. */
async function searchBatch(scope: Scope, batch: WindowRow[], limit: number, found: Found): Promise<void> {
  const { filter } = scope;
  const wanted = isTrivial(filter) ? batch.filter(({ fits }) => fits) : await matchInSql(scope, batch);
  const hits: PageEntry[] = [];
  for (let start = 0; start < wanted.length && found.hits.length + hits.length < limit;) {
    const chunk = chunkOf(wanted, start, limit - found.hits.length - hits.length);
    hits.push(...(isTrivial(filter) ? chunk.map(entryOf) : await matchExactly(scope, chunk)));
    start += chunk.length;
  }
  hits.splice(limit - found.hits.length);
  found.hits.push(...hits);
  const lastHit = found.hits.length === limit ? hits.at(-1) : undefined;
  const stop = lastHit === undefined ? batch.length : 1 + batch.findIndex(({ id }) => bytesToId(id) === lastHit.id);
  const seen = batch.slice(0, stop);
  found.scanned += seen.length;
  found.bodySkipped += seen.filter(({ fits, size }) => fits && skipsBody(filter, size)).length;
  found.last = seen.at(-1) ?? found.last;
}

/** As many rows as may be in memory at once, and not many more than are wanted. */
function chunkOf(rows: WindowRow[], start: number, limit: number): WindowRow[] {
  const most = Math.min(Math.max(limit, MIN_CHECKED_ROWS), CHECKED_ROWS);
  let bytes = 0;
  let end = start;
  while (end < rows.length && end - start < most) {
    bytes += rows[end]?.size ?? 0;
    if (end > start && bytes > CHECKED_BYTES) break;
    end += 1;
  }
  return rows.slice(start, end);
}

function entryOf({ id, size }: WindowRow): PageEntry {
  return { id: bytesToId(id), size, rest: 0 };
}
