import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { notFound } from '../http/errors.ts';
import type { StoredRequest } from '../../domain/captured-request.ts';
import { isUuid } from '../../domain/ids.ts';
import { retentionCutoff } from '../../domain/time.ts';
import { findEndpoint } from '../../store/endpoints.ts';
import {
  countHidden,
  findBody,
  findRequest,
  measurePage,
  readPage,
  removeRequests,
  type PageEntry,
  type Reader,
} from '../../store/requests.ts';
import { answerBytes, answerEntries, answerEntry, reserve } from './answers.ts';
import { principal } from '../auth/token.ts';
import type { ByteBudget } from '../http/byte-budget.ts';
import { jsonBody } from '../http/json-body.ts';
import type { Database } from '../../store/database.ts';
import { validate } from '../http/validate.ts';
import type { InFlight } from './in-flight.ts';
import { batchDeleteBody, pageQuery, rawQuery } from './schemas.ts';

/** Longer bodies are cut in lists; the detail route has them whole. */
const LIST_MAX_BODY_BYTES = 256 * 1024;

/** Limit of all bodies of one page together; above it the longest are cut shorter. */
const PAGE_MAX_BODY_BYTES = 8 * 1024 * 1024;

const ENTRY_BYTES = 1024;

export interface EntryOptions {
  db: Database;
  inFlight: InFlight;
  answers: ByteBudget;
}

export interface RequestRouteOptions extends EntryOptions {
  managementBodies: ByteBudget;
}

export function requestRoutes(router: Router, options: RequestRouteOptions): void {
  const { db, inFlight, answers, managementBodies } = options;

  router.get('/api/endpoints/:id/requests', async (ctx) => {
    const reader = readerOf(ctx);
    const endpointId = ctx.params['id'] ?? '';
    if (!isUuid(endpointId)) throw notFound();
    const { limit, offset, before, raw } = validate(pageQuery, ctx.query);
    await inFlight.settleForRead(ctx);
    const endpoint = await findEndpoint(db.knex, reader.userId, endpointId);
    if (endpoint === undefined) throw notFound();
    const page = { limit, offset, ...(before !== undefined && { before }) };
    const entries = await measurePage(db.knex, reader, endpointId, page);
    const maxBody = bodyLimit(entries);
    reserve(
      ctx,
      answers,
      entries.reduce((sum, { size, rest }) => sum + ENTRY_BYTES + rest + Math.min(size, maxBody), 0),
    );
    const rows = await readPage(
      db.knex,
      reader,
      entries.map(({ id }) => id),
      maxBody,
    );
    const total = endpoint.storedCount - (await countHidden(db.knex, reader, endpointId));
    answerEntries(ctx, rows, { total, limit, offset }, raw);
  });

  router.get('/api/requests/:id', async (ctx) => {
    const { raw } = validate(rawQuery, ctx.query);
    answerEntry(ctx, await findOwnedRequest(ctx, options), raw);
  });

  router.get('/api/requests/:id/body', async (ctx) => {
    const { body } = await findOwnedRequest(ctx, options);
    // Another sender wrote these bytes: browsers must not render them as a page.
    ctx.set('Content-Disposition', `attachment; filename="${ctx.params['id']?.toLowerCase()}.bin"`);
    ctx.set('Content-Security-Policy', "sandbox; default-src 'none'");
    ctx.type = 'application/octet-stream';
    answerBytes(ctx, body);
  });

  router.delete('/api/requests/:id', async (ctx) => {
    const id = ctx.params['id'] ?? '';
    if (!isUuid(id)) throw notFound();
    if ((await removeSettled(ctx, [id])) === 0) throw notFound();
    ctx.body = { success: true };
  });

  router.delete('/api/requests', jsonBody({ budget: managementBodies, ownerOf: principal }), async (ctx) => {
    const { ids } = validate(batchDeleteBody, ctx.request.body ?? {});
    const unique = [...new Set(ids.map((id) => id.toLowerCase()))];
    ctx.body = { success: true, deleted: await removeSettled(ctx, unique) };
  });

  /** Deletes what is stored and, if that is not all, waits for captures in flight and deletes again. */
  async function removeSettled(ctx: Context, ids: string[]): Promise<number> {
    const { userId } = principal(ctx);
    const removed = await removeRequests(db.knex, userId, ids);
    if (removed === ids.length) return removed;
    await inFlight.settleForDelete();
    return removed + (await removeRequests(db.knex, userId, ids));
  }
}

/**
 * The caller's entry named by the path, with its whole body; its bytes are reserved in the budget for answers. Waits
 * for captures in flight only when the entry is not found.
 * @throws HttpError 404, 503 when there is no memory for its body
 */
export async function findOwnedRequest(
  ctx: Context & { params: Record<string, string> },
  options: EntryOptions,
): Promise<StoredRequest> {
  const { db, inFlight } = options;
  const id = ctx.params['id'] ?? '';
  if (!isUuid(id)) throw notFound();
  const reader = readerOf(ctx);
  let found = await findRequest(db.knex, reader, id, LIST_MAX_BODY_BYTES);
  if (found === undefined) {
    await inFlight.settleForRead(ctx);
    found = await findRequest(db.knex, reader, id, LIST_MAX_BODY_BYTES);
  }
  const whole = found && (await withWholeBody(ctx, found, options));
  if (whole === undefined) throw notFound();
  return whole;
}

/**
 * An entry of the caller with its whole body, which is read where it is longer than 256 KiB; its bytes are reserved in the budget for answers. Undefined when it was deleted meanwhile.
 * @throws HttpError 503 when there is no memory for its body
 */
export async function withWholeBody(
  ctx: Context,
  found: StoredRequest,
  { db, answers }: Pick<EntryOptions, 'db' | 'answers'>,
): Promise<StoredRequest | undefined> {
  const headerBytes = found.rawHeaders.reduce((sum, text) => sum + text.length, 0);
  reserve(ctx, answers, ENTRY_BYTES + headerBytes + found.target.length + found.size);
  if (found.size <= LIST_MAX_BODY_BYTES) return found;
  const body = await findBody(db.knex, readerOf(ctx), found.id);
  return body && { ...found, body };
}

/** The length at which the bodies of a page are cut, so that together they stay within the page's limit. */
function bodyLimit(entries: PageEntry[]): number {
  let left = PAGE_MAX_BODY_BYTES;
  const sizes = entries.map(({ size }) => Math.min(size, LIST_MAX_BODY_BYTES)).toSorted((a, b) => a - b);
  for (const [i, size] of sizes.entries()) {
    const share = Math.floor(left / (sizes.length - i));
    if (size > share) return share;
    left -= size;
  }
  return LIST_MAX_BODY_BYTES;
}

export function readerOf(ctx: Context): Reader {
  const { userId, plan } = principal(ctx);
  return { userId, since: retentionCutoff(plan.retentionDays, Date.now()) };
}
