import type { Knex } from 'knex';
import type { StoredRequest } from '../domain/captured-request.ts';
import { bytesToId, firstIdAt, idToBytes } from '../domain/ids.ts';
import { redacted } from '../domain/redact.ts';
import type { ShareScope } from '../domain/share.ts';
import { createTurns } from '../turns.ts';
import { userKey } from './users.ts';

export interface Page {
  limit: number;
  offset: number;
  before?: string | undefined;
}

/**
 * The user who reads, and the retention cutoff: `since` is in Unix milliseconds, null = no limit. With `share` the
 * holder of a share link reads for the user: every read keeps to what it covers, and redacts it.
 */
export interface Reader {
  userId: string;
  since: number | null;
  share?: ShareScope;
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
  // Finds the page in the index only, so that skipped rows are never read; by `seq`, which servers may choose for its
  // shorter key, they would read and sort all entries of the endpoint.
  const ids = readable(db, reader, db.raw('requests FORCE INDEX (requests_endpoint_id)'))
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
  return requestsOf(rows, reader);
}

/** Entries with a `seq` greater than `after`; bodies longer than `maxBody` bytes are cut, or left out. */
export interface Later {
  after: number;
  limit: number;
  maxBody: number;
  cutsBodies: boolean;
}

/**
 * Entries of a user's endpoint in the order of `seq`, which is the order of commits: by id an entry that commits late
 * would be skipped.
 */
export async function listRequestsAfter(
  db: Knex,
  reader: Reader,
  endpointId: string,
  { after, limit, maxBody, cutsBodies }: Later,
): Promise<StoredRequest[]> {
  const body = cutsBodies ? 'LEFT(requests.body, ?)' : "IF(requests.size > ?, '', requests.body)";
  const rows = await readable(db, reader, db.raw('requests FORCE INDEX (requests_endpoint_seq)'))
    .andWhere('requests.endpoint_id', idToBytes(endpointId))
    .andWhere('requests.seq', '>', after)
    .orderBy('requests.seq')
    .limit(limit)
    .select<RequestRow[]>(...REQUEST_COLUMNS, db.raw(`${body} AS body`, [maxBody]));
  return requestsOf(rows, reader);
}

/**
 * One of a user's entries; undefined when it is unknown, past retention or another user's. Its body is cut after
 * `maxBody` bytes: `findBody` reads the whole.
 */
export async function findRequest(
  db: Knex,
  reader: Reader,
  id: string,
  maxBody: number,
): Promise<StoredRequest | undefined> {
  const row = await readable(db, reader)
    .andWhere('requests.id', idToBytes(id))
    .first<RequestRow | undefined>(...REQUEST_COLUMNS, db.raw('LEFT(requests.body, ?) AS body', [maxBody]));
  return row === undefined ? undefined : requestOf(row, reader);
}

/** The whole body of one of a user's entries; undefined when there is no such entry. */
export async function findBody(db: Knex, reader: Reader, id: string): Promise<Buffer | undefined> {
  const row = await readable(db, reader)
    .andWhere('requests.id', idToBytes(id))
    .first<{ body: Buffer } | undefined>('requests.body');
  return row?.body;
}

/**
 * The number of an endpoint's entries that its reader does not see: those past retention that the sweep has not reached
 * yet, which are few for any endpoint, and those that came too late for a share link.
 */
export async function countHidden(db: Knex, { userId, since, share }: Reader, endpointId: string): Promise<number> {
  const until = share?.until ?? null;
  if (since === null && until === null) return 0;
  // Named, because servers estimate what each index would read, and read up to ten pages of it for that.
  const [hidden] = await ownedBy(db, userId, db.raw('requests FORCE INDEX (requests_endpoint_id)'))
    .andWhere('requests.endpoint_id', idToBytes(endpointId))
    .andWhere((where) => {
      if (since !== null) void where.orWhere('requests.id', '<', idToBytes(firstIdAt(since)));
      if (until !== null) void where.orWhere('requests.id', '>=', idToBytes(firstIdAt(until + 1)));
    })
    .count<{ n: number }[]>({ n: '*' });
  return Number(hidden?.n);
}

/** The entries that a reader may see. */
export function readable(db: Knex, { userId, since, share }: Reader, table?: Knex.Raw): Knex.QueryBuilder {
  return ownedBy(db, userId, table).modify((query) => {
    if (since !== null) void query.andWhere('requests.id', '>=', idToBytes(firstIdAt(since)));
    if (share === undefined) return;
    const { endpointId, requestId, until } = share;
    void query.andWhere('requests.endpoint_id', idToBytes(endpointId));
    if (requestId !== null) void query.andWhere('requests.id', idToBytes(requestId));
    if (until !== null) void query.andWhere('requests.id', '<', idToBytes(firstIdAt(until + 1)));
  });
}

export function ownedBy(db: Knex, userId: string, table: string | Knex.Raw = 'requests'): Knex.QueryBuilder {
  return db(table as string)
    .join('endpoints', 'endpoints.id', 'requests.endpoint_id')
    .where('endpoints.user_id', userKey(userId));
}

/** Gives way to other work in between: a page may have megabytes of header lists. */
export async function requestsOf(rows: readonly RequestRow[], reader: Reader): Promise<StoredRequest[]> {
  const turn = createTurns();
  const requests: StoredRequest[] = [];
  for (const row of rows) {
    await turn();
    requests.push(requestOf(row, reader));
  }
  return requests;
}

function requestOf(row: RequestRow, { share }: Reader): StoredRequest {
  const request = {
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
  return share?.redact === true ? redacted(request) : request;
}
