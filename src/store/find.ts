import { isTrivial, matches, skipsBody, type Filter } from '../domain/filter.ts';
import type { StoredRequest } from '../domain/captured-request.ts';
import { bytesToId, firstIdAt, idToBytes } from '../domain/ids.ts';
import { createTurns } from '../turns.ts';
import type { Database } from './database.ts';
import { contentCondition, headCondition } from './filter-sql.ts';
import { REQUEST_COLUMNS, readPage, requestsOf, type PageEntry, type Reader, type RequestRow } from './requests.ts';
import { isOverTime } from './sql-errors.ts';
import { selectInTime, type Values } from './timed-select.ts';
import { userKey } from './users.ts';

/* One scan ends at the first of these; it says where to go on. */
const MAX_ROWS = 50_000;
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_MS = 1_500;

/** A scan starts with a small window: a common text is found at once. */
const FIRST_WINDOW_ROWS = 100;
const WINDOW_ROWS = 1_000;

/** Bytes of bodies that one statement searches. */
const BATCH_BYTES = 16 * 1024 * 1024;

/** Entries and bytes of bodies that are in memory for the exact check. */
const CHECKED_ROWS = 100;
const CHECKED_BYTES = 4 * 1024 * 1024;

const FIRST_KEY = Buffer.alloc(16, 0);
const LAST_KEY = Buffer.alloc(16, 0xff);

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

interface Place {
  id: Buffer;
  seq: number;
}

/** How a window follows a place, in an index that has all these columns. */
interface Order {
  columns: string;
  index: string;
  by: string;
  beyond: string;
  values: (place: Place, from: Buffer) => Values;
}

const NEWEST_FIRST: Order = {
  columns: 'requests.id',
  index: 'requests_endpoint_id',
  by: 'id DESC',
  beyond: 'requests.id < ? AND requests.id >= ?',
  values: ({ id }, from) => [id, from],
};

const BY_SEQ: Order = {
  columns: 'requests.id, requests.seq',
  index: 'requests_endpoint_seq',
  by: 'seq',
  beyond: 'requests.seq > ?',
  values: ({ seq }) => [seq],
};

/** What is looked for, and where: ids from `from` and below `below`. */
interface Scope {
  db: Database;
  owner: Values;
  filter: Filter;
  order: Order;
  from: Buffer;
  below: Buffer;
}

function scopeOf(db: Database, reader: Reader, endpointId: string, filter: Filter, order: Order): Scope {
  const since = Math.max(reader.since ?? 0, filter.since ?? 0);
  return {
    db,
    owner: [userKey(reader.userId), idToBytes(endpointId)],
    filter,
    order,
    from: since <= 0 ? FIRST_KEY : idToBytes(firstIdAt(since)),
    below: filter.until === undefined ? LAST_KEY : idToBytes(firstIdAt(filter.until)),
  };
}

function older(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) < 0 ? a : b;
}

/** A row of a window; rows that do not fit by what is beside their bodies need no further look. */
interface WindowRow extends Place {
  size: number;
  fits: boolean;
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

/** The next rows, chosen by size before a body is read. Rows of another time are not read either. */
async function readWindow({ db, owner, filter, order, from, below }: Scope, place: Place, rows: number) {
  const head = headCondition(filter);
  const window = await selectInTime<Place & { size: number | null; fits: number | null }>(
    db.pool,
    `place.*, requests.size, ${head.sql} AS fits
     FROM (SELECT ${order.columns} FROM endpoints JOIN requests FORCE INDEX (${order.index})
       ON requests.endpoint_id = endpoints.id
       WHERE endpoints.user_id = ? AND endpoints.id = ? AND ${order.beyond}
       ORDER BY requests.${order.by} LIMIT ?) AS place
     LEFT JOIN requests ON requests.id = place.id AND place.id >= ? AND place.id < ?
     ORDER BY place.${order.by}`,
    [...head.values, ...owner, ...order.values(place, from), rows, from, below],
  );
  return window.map((row): WindowRow => ({ ...row, size: row.size ?? 0, fits: row.size !== null && row.fits === 1 }));
}

/** The bytes of bodies that a search in these rows reads. */
function bytesToSearch(filter: Filter, rows: WindowRow[]): number {
  if (filter.text === undefined && filter.json.length === 0) return 0;
  return rows.reduce((sum, { fits, size }) => sum + (fits && !skipsBody(filter, size) ? size : 0), 0);
}

function* batches(filter: Filter, window: WindowRow[]): Generator<WindowRow[]> {
  let batch: WindowRow[] = [];
  let bytes = 0;
  for (const row of window) {
    const more = bytesToSearch(filter, [row]);
    if (bytes + more > BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += more;
  }
  if (batch.length > 0) yield batch;
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

/** Rows that may match, in the same order. */
async function matchInSql(scope: Scope, batch: WindowRow[]): Promise<WindowRow[]> {
  const { filter } = scope;
  const fitting = batch.filter(({ fits }) => fits);
  if (filter.text === undefined && filter.json.length === 0) return fitting;
  const short = fitting.filter(({ size }) => !skipsBody(filter, size));
  const long = filter.json.length > 0 ? [] : fitting.filter(({ size }) => skipsBody(filter, size));
  const ids = new Set([...(await search(scope, short, true)), ...(await search(scope, long, false))]);
  return fitting.filter(({ id }) => ids.has(bytesToId(id)));
}

/** InnoDB reads a long body before any condition on its row, so those are in a statement without bodies. */
async function search({ db, owner, filter }: Scope, rows: WindowRow[], withBody: boolean): Promise<string[]> {
  if (rows.length === 0) return [];
  const content = contentCondition(filter, withBody);
  const found = await selectInTime<{ id: Buffer }>(db.pool, `requests.id ${OWN_ROWS} AND ${content.sql}`, [
    ...owner,
    rows.map(({ id }) => id),
    ...content.values,
  ]);
  return found.map(({ id }) => bytesToId(id));
}

const OWN_ROWS = `FROM endpoints JOIN requests FORCE INDEX (PRIMARY) ON requests.endpoint_id = endpoints.id
  WHERE endpoints.user_id = ? AND endpoints.id = ? AND requests.id IN (?)`;

/** As many rows as may be in memory at once, and no more than are wanted. */
function chunkOf(rows: WindowRow[], start: number, limit: number): WindowRow[] {
  let bytes = 0;
  let end = start;
  while (end < rows.length && end - start < Math.min(limit, CHECKED_ROWS)) {
    bytes += rows[end]?.size ?? 0;
    if (end > start && bytes > CHECKED_BYTES) break;
    end += 1;
  }
  return rows.slice(start, end);
}

async function matchExactly(scope: Scope, chunk: WindowRow[]): Promise<PageEntry[]> {
  const { filter } = scope;
  const needsBody = filter.text !== undefined || filter.json.length > 0;
  const short = chunk.filter(({ size }) => needsBody && !skipsBody(filter, size));
  const long = chunk.filter((row) => !short.includes(row));
  const requests = [...(await readRows(scope, short, true)), ...(await readRows(scope, long, false))];
  const hits = new Map<string, PageEntry>();
  const turn = createTurns();
  for (const request of requests) {
    await turn();
    if (matches(filter, request)) hits.set(request.id, measured(request));
  }
  return chunk.flatMap(({ id }) => hits.get(bytesToId(id)) ?? []);
}

async function readRows({ db, owner }: Scope, rows: WindowRow[], withBody: boolean): Promise<StoredRequest[]> {
  if (rows.length === 0) return [];
  const columns = [...REQUEST_COLUMNS, withBody ? 'requests.body' : "X'' AS body"].join(', ');
  const values = [...owner, rows.map(({ id }) => id)];
  return requestsOf(await selectInTime<RequestRow>(db.pool, `${columns} ${OWN_ROWS}`, values));
}

function measured({ id, size, target, rawHeaders }: StoredRequest): PageEntry {
  return { id, size, rest: target.length + rawHeaders.reduce((sum, part) => sum + part.length + 3, 0) };
}

function entryOf({ id, size }: WindowRow): PageEntry {
  return { id: bytesToId(id), size, rest: 0 };
}
