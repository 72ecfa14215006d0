import { withDeadline } from '../../deadline.ts';
import type { StoredRequest } from '../../domain/captured-request.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import type { Filter } from '../../domain/filter.ts';
import { EVENT_MAX_BODY_BYTES } from '../../domain/live-event.ts';
import { holderOf } from '../../domain/share.ts';
import type { Database } from '../../store/database.ts';
import { findEndpoint } from '../../store/endpoints.ts';
import { scanForward } from '../../store/find.ts';
import { readPage, type Reader } from '../../store/requests.ts';
import { notFound } from '../http/errors.ts';
import { createFairLimit } from './fair-limit.ts';

/** A database that hangs (and does not refuse) would keep a wait or a stream without end. */
const LOOK_DEADLINE_MS = 5_000;

/** Looks of one process at the same time: each has a page in memory, and a connection of the pool that all share. */
const LOOKS_AT_ONCE = 4;
const LOOKS_OF_USER = 2;

/** Bytes of headers and bodies that one look reads; a single larger entry is read, too. */
const PAGE_MAX_BYTES = 512 * 1024;

export interface LookOptions {
  endpointId: string;
  reader: Reader;
  filter: Filter;
  /** The `seq` to look beyond. */
  after: number;
  limit: number;
  /** Where bodies are cut; without it those over 256 KiB are left out. */
  bodyBytes?: number | undefined;
}

export interface Found {
  /** Those that match, in the order of `seq`. */
  requests: StoredRequest[];
  /** The `seq` up to which everything was looked at. */
  last: number;
  /** Whether nothing was left to look at. */
  done: boolean;
  /** Whether the look ended at a bound of one scan, without the entries that were asked for. */
  stopped: boolean;
  endpoint: Endpoint;
}

/** @throws HttpError 404 when the endpoint does not exist, or not any more */
export type Look = (options: LookOptions) => Promise<Found>;

export function createLook(db: Database): Look {
  const limit = createFairLimit({ ofUser: LOOKS_OF_USER, ofAll: LOOKS_AT_ONCE });
  return (options) => limit(holderOf(options.reader), () => withDeadline(LOOK_DEADLINE_MS, look(db, options)));
}

async function look(db: Database, options: LookOptions): Promise<Found> {
  const { endpointId, reader, filter, after, limit, bodyBytes } = options;
  const endpoint = await findEndpoint(db.knex, reader.userId, endpointId);
  if (endpoint === undefined) throw notFound();
  // Read before the entries: up to here they are committed.
  const { requestCount: committed } = endpoint;
  if (committed <= after) return { requests: [], last: after, done: true, stopped: false, endpoint };
  const scan = await scanForward(db, reader, endpointId, filter, { after, limit, maxBody: 0 });
  const fitting = scan.requests.slice(0, countFitting(scan.requests, bodyBytes));
  const requests = await readBodies(db, reader, fitting, bodyBytes);
  const stopped = !scan.done && scan.requests.length < limit;
  const cut = fitting.at(-1);
  if (cut !== undefined && fitting.length < scan.requests.length)
    return { requests, last: cut.seq, done: false, stopped: false, endpoint };
  const last = scan.done ? Math.max(scan.last, committed) : scan.last;
  return { requests, last, done: scan.done, stopped, endpoint };
}

/** The same entries with their bodies; without those that were deleted meanwhile. */
async function readBodies(
  db: Database,
  reader: Reader,
  found: StoredRequest[],
  bodyBytes?: number,
): Promise<StoredRequest[]> {
  const leftOut = found.filter(({ size }) => isLeftOut(size, bodyBytes));
  const ids = found.filter((request) => !leftOut.includes(request)).map(({ id }) => id);
  const read = await readPage(db.knex, reader, ids, bodyBytes ?? EVENT_MAX_BODY_BYTES);
  return [...read, ...leftOut].toSorted((a, b) => a.seq - b.seq);
}

function isLeftOut(size: number, bodyBytes: number | undefined): boolean {
  return bodyBytes === undefined && size > EVENT_MAX_BODY_BYTES;
}

/** How many entries fit into a page: at least one, if there is any. */
function countFitting(requests: readonly StoredRequest[], bodyBytes?: number): number {
  let left = PAGE_MAX_BYTES;
  const beyond = requests.findIndex((request) => (left -= bytesOf(request, bodyBytes)) < 0);
  return beyond === -1 ? requests.length : Math.max(1, beyond);
}

function bytesOf({ rawHeaders, target, size }: StoredRequest, bodyBytes?: number): number {
  const body = isLeftOut(size, bodyBytes) ? 0 : Math.min(size, bodyBytes ?? size);
  return rawHeaders.reduce((sum, part) => sum + part.length, target.length + body);
}
