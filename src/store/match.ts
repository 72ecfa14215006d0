import { matches, skipsBody } from '../domain/filter.ts';
import type { StoredRequest } from '../domain/captured-request.ts';
import { bytesToId } from '../domain/ids.ts';
import { createTurns } from '../turns.ts';
import { contentCondition } from './filter-sql.ts';
import { REQUEST_COLUMNS, requestsOf, type PageEntry, type RequestRow } from './requests.ts';
import { selectInTime } from './timed-select.ts';
import type { Scope, WindowRow } from './window.ts';

/** Rows that may match, in the same order. */
export async function matchInSql(scope: Scope, batch: WindowRow[]): Promise<WindowRow[]> {
  const { filter } = scope;
  const fitting = batch.filter(({ fits }) => fits);
  if (filter.text === undefined && filter.json.length === 0) return fitting;
  const short = fitting.filter(({ size }) => !skipsBody(filter, size));
  const long = filter.json.length > 0 ? [] : fitting.filter(({ size }) => skipsBody(filter, size));
  const ids = new Set([
    ...(await search(scope, short, true, short.length === batch.length)),
    ...(await search(scope, long, false, false)),
  ]);
  return fitting.filter(({ id }) => ids.has(bytesToId(id)));
}

/**
 * InnoDB reads a long body before any condition on its row, so those are in a statement without bodies. Rows without
 * gaps are searched as a range, in half the time that a list of ids takes.
 */
async function search(scope: Scope, rows: WindowRow[], withBody: boolean, gapless: boolean): Promise<string[]> {
  const { db, owner, filter, order } = scope;
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return [];
  const content = contentCondition(filter, withBody);
  const where = gapless ? ownRows(order.index, order.between) : ownRows('PRIMARY', 'requests.id IN (?)');
  const values = gapless ? order.ends(first, last) : [rows.map(({ id }) => id)];
  const found = await selectInTime<{ id: Buffer }>(db.pool, `requests.id ${where} AND ${content.sql}`, [
    ...owner,
    ...values,
    ...content.values,
  ]);
  return found.map(({ id }) => bytesToId(id));
}

function ownRows(index: string, condition: string): string {
  return `FROM endpoints JOIN requests FORCE INDEX (${index}) ON requests.endpoint_id = endpoints.id
    WHERE endpoints.user_id = ? AND endpoints.id = ? AND ${condition}`;
}

export async function matchExactly(scope: Scope, chunk: WindowRow[]): Promise<PageEntry[]> {
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

async function readRows({ db, reader, owner }: Scope, rows: WindowRow[], withBody: boolean): Promise<StoredRequest[]> {
  if (rows.length === 0) return [];
  const columns = [...REQUEST_COLUMNS, withBody ? 'requests.body' : "X'' AS body"].join(', ');
  const values = [...owner, rows.map(({ id }) => id)];
  const sql = `${columns} ${ownRows('PRIMARY', 'requests.id IN (?)')}`;
  return requestsOf(await selectInTime<RequestRow>(db.pool, sql, values), reader);
}

function measured({ id, size, target, rawHeaders }: StoredRequest): PageEntry {
  return { id, size, rest: target.length + rawHeaders.reduce((sum, part) => sum + part.length + 3, 0) };
}
