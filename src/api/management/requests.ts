import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { notFound } from '../http/errors.ts';
import type { StoredRequest } from '../../domain/captured-request.ts';
import { isUuid } from '../../domain/ids.ts';
import { retentionCutoff } from '../../domain/time.ts';
import { removeRequests } from '../../store/remove-requests.ts';
import { findBody, findRequest, type Reader } from '../../store/requests.ts';
import { answerBytes, answerEntry, attach, ENTRY_BYTES, reserve } from './answers.ts';
import { principal } from '../auth/token.ts';
import type { ByteBudget } from '../http/byte-budget.ts';
import { jsonBody } from '../http/json-body.ts';
import type { Database } from '../../store/database.ts';
import { validate } from '../http/validate.ts';
import type { InFlight } from './read-your-writes.ts';
import { batchDeleteBody, entryQuery, LIST_MAX_BODY_BYTES } from './schemas.ts';

export interface EntryOptions {
  db: Database;
  inFlight: InFlight;
  answers: ByteBudget;
}

export interface RequestRouteOptions extends EntryOptions {
  managementBodies: ByteBudget;
}

export function requestRoutes(router: Router, options: RequestRouteOptions): void {
  const { db, inFlight, managementBodies } = options;

  router.get('/api/requests/:id', async (ctx) => {
    const { raw, bodyBytes } = validate(entryQuery, ctx.query);
    answerEntry(ctx, await findOwnedRequest(ctx, options, bodyBytes), raw);
  });

  router.get('/api/requests/:id/body', async (ctx) => {
    const { body } = await findOwnedRequest(ctx, options);
    attach(ctx, 'application/octet-stream', 'bin');
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
    await inFlight.settleForDelete(ctx);
    return removed + (await removeRequests(db.knex, userId, ids));
  }
}

/**
 * The caller's entry named by the path, with at most `maxBody` bytes of its body; its bytes are reserved in the budget
 * for answers. Waits for captures in flight only when the entry is not found.
 * @throws HttpError 404, 503 when there is no memory for its body
 */
export async function findOwnedRequest(
  ctx: Context & { params: Record<string, string> },
  options: EntryOptions,
  maxBody = Infinity,
): Promise<StoredRequest> {
  const { db, inFlight } = options;
  const id = ctx.params['id'] ?? '';
  if (!isUuid(id)) throw notFound();
  const reader = readerOf(ctx);
  const find = () => findRequest(db.knex, reader, id, Math.min(maxBody, LIST_MAX_BODY_BYTES));
  let found = await find();
  if (found === undefined) {
    await inFlight.settleForRead(ctx);
    found = await find();
  }
  const entry = found && (await withBody(ctx, found, options, maxBody));
  if (entry === undefined) throw notFound();
  return entry;
}

/**
 * An entry of the caller with its whole body, which is read here unless `found` has it, or has the `maxBody` bytes that
 * are enough; its bytes are reserved in the budget for answers. Undefined when it was deleted meanwhile.
 * @throws HttpError 503 when there is no memory for its body
 */
export async function withBody(
  ctx: Context,
  found: StoredRequest,
  { db, answers }: Pick<EntryOptions, 'db' | 'answers'>,
  maxBody = Infinity,
): Promise<StoredRequest | undefined> {
  const headerBytes = found.rawHeaders.reduce((sum, text) => sum + text.length, 0);
  const bodyBytes = Math.min(found.size, maxBody);
  reserve(ctx, answers, ENTRY_BYTES + headerBytes + found.target.length + bodyBytes);
  if (found.body.length >= bodyBytes) return found;
  const body = await findBody(db.knex, readerOf(ctx), found.id);
  return body && { ...found, body };
}

export function readerOf(ctx: Context): Reader {
  const { userId, plan, share } = principal(ctx);
  return { userId, since: retentionCutoff(plan.retentionDays, Date.now()), ...(share && { share }) };
}
