import type { Filter } from '../domain/filter.ts';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import type { Database } from './database.ts';
import { headCondition } from './filter-sql.ts';
import type { Page, PageEntry, Reader } from './requests.ts';
import { selectInTime } from './timed-select.ts';
import { NEWEST_FIRST, older, scopeOf, type Scope } from './window.ts';

/** Entries that a page and its total look at: methods are in no index. */
const MAX_ROWS = 10_000;

export interface FilteredPage {
  entries: PageEntry[];
  /** Matches among the newest entries of the filter's time; `partial` when there are older ones. */
  total: number;
  partial: boolean;
  /** The id to go on before; null at the end. */
  next: string | null;
}

/** A page of the entries that match by method and time, newest first; their bodies are not read. */
export async function measureFilteredPage(
  db: Database,
  reader: Reader,
  endpointId: string,
  filter: Filter,
  { limit, offset, before }: Page,
): Promise<FilteredPage> {
  const all = scopeOf(db, reader, endpointId, filter, NEWEST_FIRST);
  const range = before === undefined ? all : { ...all, below: older(all.below, idToBytes(before)) };
  const floor = await findFloor(all);
  const pageFloor = range === all ? floor : await findFloor(range);
  const entries = await measure({ ...range, from: pageFloor ?? range.from }, limit, offset);
  const end = entries.length === limit ? entries.at(-1)?.id : pageFloor && bytesToId(pageFloor);
  return {
    entries,
    total: await count({ ...all, from: floor ?? all.from }),
    partial: floor !== undefined,
    next: end ?? null,
  };
}

const ROWS = `FROM endpoints JOIN requests FORCE INDEX (requests_endpoint_id) ON requests.endpoint_id = endpoints.id
  WHERE endpoints.user_id = ? AND endpoints.id = ? AND requests.id >= ? AND requests.id < ?`;

/** The oldest id that is looked at; undefined when that is all. Reads only the index. */
async function findFloor({ db, owner, from, below }: Scope): Promise<Buffer | undefined> {
  const rows = await selectInTime<{ id: Buffer }>(
    db.pool,
    `requests.id ${ROWS} ORDER BY requests.id DESC LIMIT 2 OFFSET ?`,
    [...owner, from, below, MAX_ROWS - 1],
  );
  return rows.length < 2 ? undefined : rows[0]?.id;
}

async function count({ db, owner, filter, from, below }: Scope): Promise<number> {
  const head = headCondition(filter);
  const [row] = await selectInTime<{ n: number }>(db.pool, `COUNT(*) AS n ${ROWS} AND ${head.sql}`, [
    ...owner,
    from,
    below,
    ...head.values,
  ]);
  return Number(row?.n);
}

async function measure(scope: Scope, limit: number, offset: number): Promise<PageEntry[]> {
  const { db, owner, filter, from, below } = scope;
  const head = headCondition(filter);
  const rows = await selectInTime<Omit<PageEntry, 'id'> & { id: Buffer }>(
    db.pool,
    `id, size, OCTET_LENGTH(target) + OCTET_LENGTH(raw_headers) AS rest
     FROM (SELECT requests.id AS page_id ${ROWS} AND ${head.sql} ORDER BY requests.id DESC LIMIT ? OFFSET ?) AS page
     JOIN requests ON requests.id = page.page_id
     ORDER BY id DESC`,
    [...owner, from, below, ...head.values, limit, offset],
  );
  return rows.map((row) => ({ ...row, id: bytesToId(row.id) }));
}
