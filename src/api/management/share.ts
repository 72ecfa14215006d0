import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { isUuid } from '../../domain/ids.ts';
import {
  hashShareToken,
  newShareId,
  newShareToken,
  presentScope,
  presentShare,
  type Share,
} from '../../domain/share.ts';
import { findEndpoint } from '../../store/endpoints.ts';
import { findRequest } from '../../store/requests.ts';
import { endShare, insertShare, listShares, MAX_SHARES, TooManyShares } from '../../store/shares.ts';
import type { ShareLookUps } from '../auth/share-look-ups.ts';
import { principal } from '../auth/token.ts';
import type { ByteBudget } from '../http/byte-budget.ts';
import { forbidden, notFound } from '../http/errors.ts';
import { jsonBody } from '../http/json-body.ts';
import { validate } from '../http/validate.ts';
import { readerOf, type EntryOptions } from './requests.ts';
import { shareEndpointBody, shareEntryBody } from './share-operations.ts';

export interface ShareRouteOptions extends EntryOptions {
  managementBodies: ByteBudget;
  baseUrl: string;
  shares: ShareLookUps;
}

type Params = Context & { params: Record<string, string> };

export function shareRoutes(router: Router, options: ShareRouteOptions): void {
  const { db, managementBodies, shares } = options;
  const readBody = jsonBody({ budget: managementBodies, ownerOf: principal });

  router.post('/api/endpoints/:id/shares', readBody, async (ctx) => {
    const endpointId = await ownedEndpoint(options, ctx);
    const { until, ...settings } = validate(shareEndpointBody, ctx.request.body);
    await create(options, ctx, {
      ...settings,
      endpointId,
      requestId: null,
      until: until === 'now' ? Date.now() : null,
    });
  });

  router.post('/api/requests/:id/shares', readBody, async (ctx) => {
    const entry = await ownedEntry(options, ctx);
    const settings = validate(shareEntryBody, ctx.request.body);
    await create(options, ctx, { ...settings, endpointId: entry.endpointId, requestId: entry.id, until: null });
  });

  router.get('/api/endpoints/:id/shares', async (ctx) => {
    const endpointId = await ownedEndpoint(options, ctx);
    const found = await listShares(db.knex, principal(ctx).userId, { endpointId }, new Date());
    ctx.body = { shares: found.map(presentShare) };
  });

  router.get('/api/requests/:id/shares', async (ctx) => {
    const { id: requestId, endpointId } = await ownedEntry(options, ctx);
    const found = await listShares(db.knex, principal(ctx).userId, { endpointId, requestId }, new Date());
    ctx.body = { shares: found.map(presentShare) };
  });

  router.delete('/api/shares/:id', async (ctx) => {
    const id = ctx.params['id']?.toLowerCase() ?? '';
    if (!isUuid(id)) throw notFound();
    const ended = await endShare(db.knex, principal(ctx).userId, id, new Date());
    shares.forget(id);
    if (!ended) throw notFound();
    ctx.body = { success: true };
  });

  router.get('/api/share', (ctx) => {
    const { share } = principal(ctx);
    if (share === undefined) throw forbidden('Only the token of a share link has this');
    ctx.body = presentScope(share);
  });
}

async function ownedEndpoint({ db }: ShareRouteOptions, ctx: Params): Promise<string> {
  const id = ctx.params['id']?.toLowerCase() ?? '';
  const found = isUuid(id) ? await findEndpoint(db.knex, principal(ctx).userId, id) : undefined;
  if (found === undefined) throw notFound();
  return found.id;
}

/** Waits for captures in flight only when the entry is not found. Its body is not read. */
async function ownedEntry(
  { db, inFlight }: ShareRouteOptions,
  ctx: Params,
): Promise<{ id: string; endpointId: string }> {
  const id = ctx.params['id'] ?? '';
  if (!isUuid(id)) throw notFound();
  const find = (): ReturnType<typeof findRequest> => findRequest(db.knex, readerOf(ctx), id, 0);
  let found = await find();
  if (found === undefined) {
    await inFlight.settleForRead(ctx);
    found = await find();
  }
  if (found === undefined) throw notFound();
  return found;
}

type Settings = Pick<Share, 'endpointId' | 'requestId' | 'until' | 'redact' | 'label'> & { expiresIn: number };

async function create(
  { db, baseUrl }: ShareRouteOptions,
  ctx: Context,
  { expiresIn, ...settings }: Settings,
): Promise<void> {
  const token = newShareToken();
  const createdAt = new Date();
  const expiresAt = new Date(createdAt.getTime() + expiresIn * 1_000);
  const share: Share = { ...settings, id: newShareId(), userId: principal(ctx).userId, expiresAt, createdAt };
  const inserted = await insertShare(db.knex, share, hashShareToken(token)).catch(toHttpError);
  if (!inserted) throw notFound();
  ctx.status = 201;
  ctx.body = { id: share.id, token, url: `${baseUrl}/s#${token}`, expiresAt: expiresAt.toISOString() };
}

/** @throws HttpError 403; otherwise the error itself */
function toHttpError(error: unknown): never {
  if (error instanceof TooManyShares)
    throw forbidden(`An endpoint and its entries can have ${MAX_SHARES} share links at a time; withdraw one first`);
  throw error;
}
