import type { Router } from '@koa/router';
import type { Context } from 'koa';
import type { z } from 'zod';
import type { StoredRequest } from '../../domain/captured-request.ts';
import { isTrivial, type Filter } from '../../domain/filter.ts';
import { isUuid } from '../../domain/ids.ts';
import { findEndpoint } from '../../store/endpoints.ts';
import { measureFilteredPage } from '../../store/filtered-page.ts';
import { scanBack } from '../../store/find.ts';
import { countHidden, measurePage, readPage, type PageEntry, type Reader } from '../../store/requests.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { validate } from '../http/validate.ts';
import { answerEntries, ENTRY_BYTES, reserve } from './answers.ts';
import { filterOf } from './filter-query.ts';
import { readerOf, type EntryOptions } from './requests.ts';
import type { LimitScan } from './scans.ts';
import { LIST_MAX_BODY_BYTES, pageQuery } from './schemas.ts';

/** Limit of all bodies of one page together; above it the longest are cut shorter. */
const PAGE_MAX_BODY_BYTES = 8 * 1024 * 1024;

export interface EntryListOptions extends EntryOptions {
  limitScan: LimitScan;
}

/** The query of a list, without what is the filter's. */
type ListPage = Pick<z.output<typeof pageQuery>, 'limit' | 'offset' | 'before'>;

export function entryListRoute(router: Router, { db, inFlight, answers, limitScan }: EntryListOptions): void {
  router.get('/api/endpoints/:id/requests', async (ctx) => {
    const reader = readerOf(ctx);
    const endpointId = ctx.params['id'] ?? '';
    if (!isUuid(endpointId)) throw notFound();
    const { limit, offset, before, raw, bodyBytes, ...query } = validate(pageQuery, ctx.query);
    const filter = filterOf(query);
    if (!isTrivial(filter) && ctx.query['offset'] !== undefined)
      throw badRequest('offset: must be absent with path, q, header and json; use before');
    await inFlight.settleForRead(ctx);
    const endpoint = await findEndpoint(db.knex, reader.userId, endpointId);
    if (endpoint === undefined) throw notFound();
    const page = { limit, offset, before };
    const list = { ctx, reader, endpointId, storedCount: endpoint.storedCount };
    const { entries, ...rest } = isTrivial(filter) ? await pageOf(list, filter, page) : await find(list, filter, page);
    answerEntries(ctx, await readReserved(list, entries, bodyBytes), rest, raw);
  });

  interface List {
    ctx: Context;
    reader: Reader;
    endpointId: string;
    storedCount: number;
  }

  /** By method and time, as numbered pages. */
  async function pageOf({ reader, endpointId, storedCount }: List, filter: Filter, page: ListPage) {
    const { limit, offset, before } = page;
    const { methods, since, until } = filter;
    if (methods === undefined && since === undefined && until === undefined) {
      const entries = await measurePage(db.knex, reader, endpointId, page);
      const total = storedCount - (await countHidden(db.knex, reader, endpointId));
      return { entries, total, limit, offset };
    }
    const found = await measureFilteredPage(db, reader, endpointId, filter, { limit, offset, before });
    const { entries, total, partial, next } = found;
    return { entries, total, ...(partial && { total_partial: true }), limit, offset, next };
  }

  /** By content, as far as one scan comes. */
  async function find({ ctx, reader, endpointId }: List, filter: Filter, { limit, before }: ListPage) {
    const found = await limitScan(ctx, (signal) => scanBack(db, reader, endpointId, filter, { before, limit, signal }));
    const { entries, scanned, bodySkipped, done, last = null } = found;
    return { entries, limit, scanned, body_skipped: bodySkipped, next: done ? null : last };
  }

  async function readReserved(
    { ctx, reader }: List,
    entries: PageEntry[],
    bodyBytes?: number,
  ): Promise<StoredRequest[]> {
    const maxBody = bodyLimit(entries, bodyBytes);
    const bytes = entries.reduce((sum, { size, rest }) => sum + ENTRY_BYTES + rest + Math.min(size, maxBody), 0);
    reserve(ctx, answers, bytes);
    const ids = entries.map(({ id }) => id);
    return readPage(db.knex, reader, ids, maxBody);
  }
}

/** The length at which the bodies of a page are cut, so that together they stay within the page's limit. */
function bodyLimit(entries: PageEntry[], bodyBytes = LIST_MAX_BODY_BYTES): number {
  let left = PAGE_MAX_BODY_BYTES;
  const sizes = entries.map(({ size }) => Math.min(size, bodyBytes)).toSorted((a, b) => a - b);
  for (const [i, size] of sizes.entries()) {
    const share = Math.floor(left / (sizes.length - i));
    if (size > share) return share;
    left -= size;
  }
  return bodyBytes;
}
