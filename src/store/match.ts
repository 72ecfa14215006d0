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
  return requestsOf(await selectInTime<RequestRow>(db.pool, `${columns} ${OWN_ROWS}`, values), reader);
}

function measured({ id, size, target, rawHeaders }: StoredRequest): PageEntry {
  return { id, size, rest: target.length + rawHeaders.reduce((sum, part) => sum + part.length + 3, 0) };
}
