import pLimit from 'p-limit';
import { withDeadline } from '../../deadline.ts';
import type { StoredRequest } from '../../domain/captured-request.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import { EVENT_MAX_BODY_BYTES } from '../../domain/live-event.ts';
import type { Database } from '../../store/database.ts';
import { findEndpoint } from '../../store/endpoints.ts';
import { listRequestsAfter, measureAfter, type Reader } from '../../store/requests.ts';
import { notFound } from '../http/errors.ts';

/** A database that hangs (and does not refuse) would keep a wait or a stream without end. */
const QUERY_DEADLINE_MS = 5_000;

/** Bytes of target, headers and bodies that one look reads; a single larger entry is read, too. */
const PAGE_MAX_BYTES = 512 * 1024;

/** Looks of one process at the same time: each has a page in memory, and a connection of the pool that all share. */
const LOOKS_AT_ONCE = 4;

export interface LookOptions {
  endpointId: string;
  reader: Reader;
  /** The `seq` to look beyond. */
  after: number;
  limit: number;
}

export interface Found {
  /** In the order of `seq`; bodies over 256 KiB are left out. */
  requests: StoredRequest[];
  /** The `seq` up to which everything was looked at. */
  last: number;
  /** Whether nothing was left to look at. */
  done: boolean;
  endpoint: Endpoint;
}

/** @throws HttpError 404 when the endpoint does not exist, or not any more */
export type Look = (options: LookOptions) => Promise<Found>;

export function createLook(db: Database): Look {
  const limitLooks = pLimit(LOOKS_AT_ONCE);
  return (options) => limitLooks(() => withDeadline(QUERY_DEADLINE_MS, look(db, options)));
}

async function look(db: Database, { endpointId, reader, after, limit }: LookOptions): Promise<Found> {
  const endpoint = await findEndpoint(db.knex, reader.userId, endpointId);
  if (endpoint === undefined) throw notFound();
  // Read before the entries: up to here they are committed.
  const { requestCount: committed } = endpoint;
  if (committed <= after) return { requests: [], last: after, done: true, endpoint };
  const sizes = await measureAfter(db.knex, reader, endpointId, after, limit, EVENT_MAX_BODY_BYTES);
  const fitting = countFitting(sizes);
  const requests =
    fitting === 0 ? [] : await listRequestsAfter(db.knex, reader, endpointId, after, fitting, EVENT_MAX_BODY_BYTES);
  const done = sizes.length < limit && fitting === sizes.length;
  const last = requests.at(-1)?.seq ?? after;
  return { requests, last: done ? Math.max(last, committed) : last, done, endpoint };
}

/** How many entries fit into a page: at least one, if there is any. */
function countFitting(sizes: readonly number[]): number {
  let left = PAGE_MAX_BYTES;
  const beyond = sizes.findIndex((size) => (left -= size) < 0);
  return beyond === -1 ? sizes.length : Math.max(1, beyond);
}
