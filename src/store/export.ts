import type { Knex } from 'knex';
import type { Filter } from '../domain/filter.ts';
import { bytesToId, firstIdAt, idToBytes } from '../domain/ids.ts';
import { readable, type PageEntry, type Reader } from './requests.ts';

export interface Window {
  after: number;
  /** The last `seq` that is wanted. */
  upTo: number;
  limit: number;
  /** Only those of its time are given. */
  filter: Filter;
}

export interface WindowEntry extends PageEntry {
  seq: number;
  method: string;
}

/** The next entries of a user's endpoint by `seq`; their bodies are not read. */
export async function measureWindow(
  db: Knex,
  reader: Reader,
  endpointId: string,
  { after, upTo, limit, filter: { since, until } }: Window,
): Promise<WindowEntry[]> {
  const ids = readable(db, reader, db.raw('requests FORCE INDEX (requests_endpoint_seq)'))
    .andWhere('requests.endpoint_id', idToBytes(endpointId))
    .andWhere('requests.seq', '>', after)
    .andWhere('requests.seq', '<=', upTo)
    .modify((query) => {
      if (since !== undefined) void query.andWhere('requests.id', '>=', idToBytes(firstIdAt(since)));
      if (until !== undefined) void query.andWhere('requests.id', '<', idToBytes(firstIdAt(until)));
    })
    .orderBy('requests.seq')
    .limit(limit)
    .select('requests.id as page_id');
  const rows = await db('requests')
    .join(ids.as('page'), 'page.page_id', 'requests.id')
    .orderBy('requests.seq')
    .select<(Omit<WindowEntry, 'id'> & { id: Buffer })[]>(
      'id',
      'seq',
      'method',
      'size',
      db.raw('OCTET_LENGTH(target) + OCTET_LENGTH(raw_headers) AS rest'),
    );
  return rows.map((row) => ({ ...row, id: bytesToId(row.id) }));
}
