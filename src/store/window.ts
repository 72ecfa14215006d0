import { skipsBody, type Filter } from '../domain/filter.ts';
import { firstIdAt, idToBytes } from '../domain/ids.ts';
import type { Database } from './database.ts';
import { headCondition } from './filter-sql.ts';
import type { Reader } from './requests.ts';
import { selectInTime, type Values } from './timed-select.ts';
import { userKey } from './users.ts';

/** Bytes of bodies that one statement searches. */
const BATCH_BYTES = 16 * 1024 * 1024;

export const FIRST_KEY = Buffer.alloc(16, 0);
export const LAST_KEY = Buffer.alloc(16, 0xff);

export interface Place {
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
  /** All rows from one place to another one. */
  between: string;
  ends: (first: Place, last: Place) => Values;
}

export const NEWEST_FIRST: Order = {
  columns: 'requests.id',
  index: 'requests_endpoint_id',
  by: 'id DESC',
  beyond: 'requests.id < ? AND requests.id >= ?',
  values: ({ id }, from) => [id, from],
  between: 'requests.id BETWEEN ? AND ?',
  ends: (first, last) => [last.id, first.id],
};

export const BY_SEQ: Order = {
  columns: 'requests.id, requests.seq',
  index: 'requests_endpoint_seq',
  by: 'seq',
  beyond: 'requests.seq > ?',
  values: ({ seq }) => [seq],
  between: 'requests.seq BETWEEN ? AND ?',
  ends: (first, last) => [first.seq, last.seq],
};

/** What is looked for, and where: ids from `from` and below `below`. */
export interface Scope {
  db: Database;
  reader: Reader;
  owner: Values;
  filter: Filter;
  order: Order;
  from: Buffer;
  below: Buffer;
}

export function scopeOf(db: Database, reader: Reader, endpointId: string, filter: Filter, order: Order): Scope {
  const since = Math.max(reader.since ?? 0, filter.since ?? 0);
  const until = Math.min(filter.until ?? Infinity, (reader.share?.until ?? Infinity) + 1);
  return {
    db,
    reader,
    owner: [userKey(reader.userId), idToBytes(endpointId)],
    filter,
    order,
    from: since <= 0 ? FIRST_KEY : idToBytes(firstIdAt(since)),
    below: until === Infinity ? LAST_KEY : idToBytes(firstIdAt(until)),
  };
}

export function older(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) < 0 ? a : b;
}

/** A row of a window; rows that do not fit by what is beside their bodies need no further look. */
export interface WindowRow extends Place {
  size: number;
  fits: boolean;
}

/** The next rows, chosen by size before a body is read. Rows of another time are not read either. */
export async function readWindow({ db, owner, filter, order, from, below }: Scope, place: Place, rows: number) {
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
export function bytesToSearch(filter: Filter, rows: WindowRow[]): number {
  if (filter.text === undefined && filter.json.length === 0) return 0;
  return rows.reduce((sum, { fits, size }) => sum + (fits && !skipsBody(filter, size) ? size : 0), 0);
}

export function* batches(filter: Filter, window: WindowRow[]): Generator<WindowRow[]> {
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
