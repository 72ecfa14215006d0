import type { Knex } from 'knex';
import type { StoredRequest } from '../domain/captured-request.ts';
import { bytesToId, firstIdAt, idToBytes } from '../domain/ids.ts';
import { createTurns } from '../turns.ts';
import { userKey } from './users.ts';

export interface Page {
  limit: number;
  offset: number;
  before?: string;
}

/** The user who reads, and the retention cutoff: `since` is in Unix milliseconds, null = no limit. */
export interface Reader {
  userId: string;
  since: number | null;
}

export const REQUEST_COLUMNS = [
  'id',
  'endpoint_id',
  'seq',
  'method',
  'target',
  'raw_headers',
  'ip',
  'size',
  'is_utf8',
].map((column) => `requests.${column}`);

export interface RequestRow {
  id: Buffer;
  endpoint_id: Buffer;
  seq: number;
  method: string;
  target: string;
  raw_headers: string;
  ip: string;
  size: number;
  is_utf8: number;
  body: Buffer;
}

/** An entry of a page, with the bytes of its body, and of its target and headers together. */
export interface PageEntry {
  id: string;
  size: number;
  rest: number;
}

/** Selects the entries of a page of a user's endpoint, newest first; their bodies are not read. */
export async function measurePage(db: Knex, reader: Reader, endpointId: string, page: Page): Promise<PageEntry[]> {
  // Finds the page in the index only, so that skipped rows are never read.
  const ids = readable(db, reader)
    .andWhere('requests.endpoint_id', idToBytes(endpointId))
    .modify((query) => {
      if (page.before !== undefined) void query.andWhere('requests.id', '<', idToBytes(page.before));
    })
    .orderBy('requests.id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .select('requests.id as page_id');
  const rows = await db('requests')
    .join(ids.as('page'), 'page.page_id', 'requests.id')
    .orderBy('requests.id', 'desc')
    .select<(Omit<PageEntry, 'id'> & { id: Buffer })[]>(
      'id',
      'size',
      db.raw('OCTET_LENGTH(target) + OCTET_LENGTH(raw_headers) AS rest'),
    );
  return rows.map((row) => ({ ...row, id: bytesToId(row.id) }));
}

/** A user's entries with these ids, newest first; bodies are cut after `maxBody` bytes. */
export async function readPage(db: Knex, reader: Reader, ids: string[], maxBody: number): Promise<StoredRequest[]> {
  if (ids.length === 0) return [];
  const rows = await readable(db, reader)
    .whereIn('requests.id', ids.map(idToBytes))
    .orderBy('requests.id', 'desc')
    .select<RequestRow[]>(...REQUEST_COLUMNS, db.raw('LEFT(requests.body, ?) AS body', [maxBody]));
  return requestsOf(rows);
}

/**
 * Entries of a user's endpoint with a `seq` greater than `after`, in that order, which is the order of commits: by id
 * an entry that commits late would be skipped. Bodies longer than `maxBody` bytes are left out.
 */
export async function listRequestsAfter(
  db: Knex,
  reader: Reader,
  endpointId: string,
  after: number,
  limit: number,
  maxBody: number,
): Promise<StoredRequest[]> {
  const rows = await readable(db, reader)
    .andWhere('requests.endpoint_id', idToBytes(endpointId))
    .andWhere('requests.seq', '>', after)
    .orderBy('requests.seq')
    .limit(limit)
    .select<RequestRow[]>(...REQUEST_COLUMNS, db.raw("IF(requests.size > ?, '', requests.body) AS body", [maxBody]));
  return requestsOf(rows);
}

/**
 * One of a user's entries; undefined when it is unknown, past retention or another user's. A body of more than
 * `maxBody` bytes is left out: `findBody` reads it.
 */
export async function findRequest(
  db: Knex,
  reader: Reader,
  id: string,
  maxBody: number,
): Promise<StoredRequest | undefined> {
  const row = await readable(db, reader)
    .andWhere('requests.id', idToBytes(id))
    .first<RequestRow | undefined>(
      ...REQUEST_COLUMNS,
      db.raw("IF(requests.size > ?, '', requests.body) AS body", [maxBody]),
    );
  return row === undefined ? undefined : requestOf(row);
}

/** The whole body of one of a user's entries; undefined when there is no such entry. */
export async function findBody(db: Knex, reader: Reader, id: string): Promise<Buffer | undefined> {
  const row = await readable(db, reader)
    .andWhere('requests.id', idToBytes(id))
    .first<{ body: Buffer } | undefined>('requests.body');
  return row?.body;
}

/** The number of an endpoint's entries past retention that the sweep has not reached yet: few rows for any endpoint. */
export async function countHidden(db: Knex, reader: Reader, endpointId: string): Promise<number> {
  if (reader.since === null) return 0;
  const [hidden] = await ownedBy(db, reader.userId)
    .andWhere('endpoints.id', idToBytes(endpointId))
    .andWhere('requests.id', '<', idToBytes(firstIdAt(reader.since)))
    .count<{ n: number }[]>({ n: '*' });
  return Number(hidden?.n);
}

/** Locks the endpoints first, in the worker's order, to avoid deadlocks. Returns the number of entries. */
export async function removeRequests(db: Knex, userId: string, ids: string[]): Promise<number> {
  const keys = ids.map(idToBytes);
  const found = await ownedBy(db, userId)
    .whereIn('requests.id', keys)
    .distinct<{ endpoint_id: Buffer }[]>('requests.endpoint_id');
  if (found.length === 0) return 0;
  return db.transaction(async (trx) => {
    const owned = await trx('endpoints')
      .where('user_id', userKey(userId))
      .whereIn(
        'id',
        found.map(({ endpoint_id }) => endpoint_id),
      )
      .orderBy('id')
      .forUpdate()
      .select<{ id: Buffer }[]>('id');
    let removed = 0;
    for (const { id } of owned) {
      const count = await trx('requests')
        .where('endpoint_id', id)
        .whereIn('id', keys)
        .whereIn('endpoint_id', ownedIds(trx, userId))
        .delete();
      await trx('endpoints')
        .where({ id, user_id: userKey(userId) })
        .decrement('stored_count', count);
      removed += count;
    }
    return removed;
  });
}

function readable(db: Knex, reader: Reader): Knex.QueryBuilder {
  return ownedBy(db, reader.userId).modify((query) => {
    if (reader.since !== null) void query.andWhere('requests.id', '>=', idToBytes(firstIdAt(reader.since)));
  });
}

function ownedBy(db: Knex, userId: string): Knex.QueryBuilder {
  return db('requests')
    .join('endpoints', 'endpoints.id', 'requests.endpoint_id')
    .where('endpoints.user_id', userKey(userId));
}

function ownedIds(db: Knex, userId: string): Knex.QueryBuilder {
  return db('endpoints').where('user_id', userKey(userId)).select('id');
}

/** Gives way to other work in between: a page may have megabytes of header lists. */
export async function requestsOf(rows: readonly RequestRow[]): Promise<StoredRequest[]> {
  const turn = createTurns();
  const requests: StoredRequest[] = [];
  for (const row of rows) {
    await turn();
    requests.push(requestOf(row));
  }
  return requests;
}

function requestOf(row: RequestRow): StoredRequest {
  return {
    id: bytesToId(row.id),
    endpointId: bytesToId(row.endpoint_id),
    seq: row.seq,
    method: row.method,
    target: row.target,
    rawHeaders: JSON.parse(row.raw_headers) as string[],
    ip: row.ip,
    size: row.size,
    isUtf8: row.is_utf8 === 1,
    body: row.body,
  };
}
