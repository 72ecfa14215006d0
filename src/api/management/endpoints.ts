import type { Router } from '@koa/router';
import { badRequest, forbidden, notFound } from '../../errors.ts';
import { expiryOf, presentCreated, presentEndpoint } from '../../domain/endpoint.ts';
import { isUuid, newEndpointId } from '../../domain/ids.ts';
import { utcDay } from '../../domain/time.ts';
import { describeError } from '../../log.ts';
import { countEndpoints, findEndpoint, insertEndpoint, listEndpoints, removeEndpoint } from '../../store/endpoints.ts';
import { findUsage } from '../../store/usage.ts';
import type { ApiDependencies } from '../app.ts';
import { principal } from '../auth/token.ts';
import { jsonBody } from '../http/json-body.ts';
import { createEndpointBody, endpointPageQuery, validate } from './schemas.ts';

export function endpointRoutes(router: Router, api: ApiDependencies): void {
  const { db, endpoints, quota, inFlight, baseUrl, log } = api;

  router.post('/api/endpoints', jsonBody({ budget: api.managementBodies, ownerOf: principal }), async (ctx) => {
    const { userId, plan } = principal(ctx);
    const { permanent, alias } = validate(createEndpointBody, ctx.request.body);
    if (alias !== null && !plan.customAlias) throw forbidden(`The plan "${plan.name}" has no custom aliases`);
    const now = new Date();
    const expiry = expiryOf(plan, permanent, now.getTime());
    const expiresAt = expiry === null ? null : new Date(expiry);
    const id = newEndpointId();
    const row = await insertEndpoint(db.knex, { id, userId, alias, permanent, expiresAt, now, plan });
    // Without Redis the first capture finds the endpoint in the database.
    await Promise.all([endpoints.created({ id, userId, expiresAt }, alias), quota.prepare(userId)])
      .catch((error: unknown) => log.warn({ error: describeError(error) }, 'New endpoint not announced: Redis is away'));
    ctx.status = 201;
    ctx.body = presentCreated(row, baseUrl);
  });

  router.get('/api/endpoints', async (ctx) => {
    const { userId, plan } = principal(ctx);
    const page = validate(endpointPageQuery, ctx.query);
    await inFlight.settleForRead(ctx);
    const now = new Date();
    const rows = await listEndpoints(db.knex, userId, now, page);
    if (rows === undefined) throw badRequest('before: must be the id of one of your endpoints');
    const total = await countEndpoints(db.knex, userId, now);
    const dailyRequests = await findUsage(db.knex, userId, utcDay(now.getTime()));
    const usage = { dailyRequests, dailyRequestsMax: plan.dailyRequests };
    ctx.body = { endpoints: rows.map(presentEndpoint), usage, total, limit: page.limit, offset: page.offset };
  });

  router.get('/api/endpoints/:id', async (ctx) => {
    const { userId } = principal(ctx);
    await inFlight.settleForRead(ctx);
    const row = await findOwned(ctx.params['id']);
    ctx.body = presentEndpoint(row);

    async function findOwned(id: string | undefined) {
      const found = id !== undefined && isUuid(id) ? await findEndpoint(db.knex, userId, id) : undefined;
      if (found === undefined) throw notFound();
      return found;
    }
  });

  router.delete('/api/endpoints/:id', async (ctx) => {
    const { userId } = principal(ctx);
    const id = (ctx.params['id'] ?? '').toLowerCase();
    const row = isUuid(id) ? await findEndpoint(db.knex, userId, id) : undefined;
    if (row === undefined) throw notFound();
    const target = { id, userId, expiresAt: row.expires_at };
    // Captures stop first: once the row is gone nobody may be told that a capture is kept.
    const removed = await endpoints.whileStopped(target, () => removeEndpoint(db.knex, userId, id, new Date()));
    if (!removed) throw notFound();
    await api.requestPurge();
    ctx.body = { success: true };
  });
}
