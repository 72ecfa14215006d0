import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { notFound } from '../errors.ts';
import { presentRequest, type StoredRequest } from '../domain/captured-request.ts';
import { isUuid } from '../domain/ids.ts';
import { retentionCutoff } from '../domain/time.ts';
import { findEndpoint } from '../store/endpoints.ts';
import { countRequests, findRequest, listRequests, removeRequests, type Reader } from '../store/requests.ts';
import type { ApiDependencies } from './app.ts';
import { principal } from './auth.ts';
import { jsonBody } from './json-body.ts';
import { batchDeleteBody, pageQuery, validate } from './schemas.ts';

/** Longer bodies are cut in lists; the detail route has them whole. */
const LIST_MAX_BODY_BYTES = 256 * 1024;

/** Bodies that take a noticeable part of a millisecond to present. */
const LARGE_BODY_BYTES = 32 * 1024;

export function requestRoutes(router: Router, api: ApiDependencies): void {
  const { db, inFlight } = api;

  router.get('/api/endpoints/:id/requests', async (ctx) => {
    const reader = readerOf(ctx);
    const endpointId = ctx.params['id'] ?? '';
    if (!isUuid(endpointId)) throw notFound();
    const { limit, offset, before } = validate(pageQuery, ctx.query);
    await inFlight.settleForRead(ctx);
    if ((await findEndpoint(db.knex, reader.userId, endpointId)) === undefined) throw notFound();
    const page = { limit, offset, ...(before !== undefined && { before }) };
    const rows = await listRequests(db.knex, reader, endpointId, page, LIST_MAX_BODY_BYTES);
    const total = await countRequests(db.knex, reader, endpointId);
    // In pieces, because two hundred bodies in one text are hundreds of megabytes and seconds without a turn for anybody else.
    ctx.type = 'json';
    ctx.body = Readable.from(listInPieces(rows, { total, limit, offset }), { objectMode: false });
  });

  router.get('/api/requests/:id', async (ctx) => {
    ctx.body = presentRequest(await findOwnedRequest(ctx, api));
  });

  router.get('/api/requests/:id/body', async (ctx) => {
    const { body } = await findOwnedRequest(ctx, api);
    // Somebody else wrote these bytes: no browser may take them for a page.
    ctx.set('Content-Disposition', `attachment; filename="${ctx.params['id']?.toLowerCase()}.bin"`);
    ctx.set('Content-Security-Policy', "sandbox; default-src 'none'");
    ctx.type = 'application/octet-stream';
    ctx.body = body;
  });

  router.delete('/api/requests/:id', async (ctx) => {
    const id = ctx.params['id'] ?? '';
    if (!isUuid(id)) throw notFound();
    if ((await removeSettled(ctx, [id])) === 0) throw notFound();
    ctx.body = { success: true };
  });

  router.delete('/api/requests', jsonBody(), async (ctx) => {
    const { ids } = validate(batchDeleteBody, ctx.request.body ?? {});
    const unique = [...new Set(ids.map((id) => id.toLowerCase()))];
    ctx.body = { success: true, deleted: await removeSettled(ctx, unique) };
  });

  /** Deletes what is stored and, if that was not all, what was acknowledged and is stored by now. */
  async function removeSettled(ctx: Context, ids: string[]): Promise<number> {
    const { userId } = principal(ctx);
    const removed = await removeRequests(db.knex, userId, ids);
    if (removed === ids.length) return removed;
    await inFlight.settleForDelete();
    return removed + (await removeRequests(db.knex, userId, ids));
  }
}

/**
 * The caller's entry named by the path. One that is not there may be on its way: only then is it worth waiting.
 *
 * @throws HttpError 404
 */
export async function findOwnedRequest(ctx: Context & { params: Record<string, string> }, { db, inFlight }: ApiDependencies): Promise<StoredRequest> {
  const id = ctx.params['id'] ?? '';
  if (!isUuid(id)) throw notFound();
  const reader = readerOf(ctx);
  const found = await findRequest(db.knex, reader, id);
  if (found !== undefined) return found;
  await inFlight.settleForRead(ctx);
  const settled = await findRequest(db.knex, reader, id);
  if (settled === undefined) throw notFound();
  return settled;
}

async function* listInPieces(rows: StoredRequest[], rest: Record<string, number>): AsyncGenerator<string> {
  for (const [i, row] of rows.entries()) {
    if (row.body.length > LARGE_BODY_BYTES) await setImmediate();
    yield (i === 0 ? '{"requests":[' : ',') + JSON.stringify(presentRequest(row));
  }
  yield `${rows.length === 0 ? '{"requests":[' : ''}],${JSON.stringify(rest).slice(1)}`;
}

function readerOf(ctx: Context): Reader {
  const { userId, plan } = principal(ctx);
  return { userId, since: retentionCutoff(plan.retentionDays, Date.now()) };
}
