import type { Router } from '@koa/router';
import { expiryOf, presentCreated, presentEndpoint, type Endpoint } from '../../domain/endpoint.ts';
import { isUuid, newEndpointId } from '../../domain/ids.ts';
import { utcDay } from '../../domain/time.ts';
import { describeError, type Log } from '../../log.ts';
import type { EndpointCache, NewTarget } from '../../redis/endpoint-cache.ts';
import type { Quota } from '../../redis/quota.ts';
import type { Database } from '../../store/database.ts';
import {
  AliasTaken,
  countEndpoints,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  removeEndpoint,
  TooManyEndpoints,
} from '../../store/endpoints.ts';
import { findUsage } from '../../store/usage.ts';
import { principal } from '../auth/token.ts';
import type { ByteBudget } from '../http/byte-budget.ts';
import { badRequest, conflict, forbidden, notFound } from '../http/errors.ts';
import { jsonBody } from '../http/json-body.ts';
import { validate } from '../http/validate.ts';
import type { InFlight } from './read-your-writes.ts';
import { createEndpointBody, endpointPageQuery } from './schemas.ts';

export interface EndpointRouteOptions {
  db: Database;
  endpoints: EndpointCache;
  quota: Pick<Quota, 'prepare'>;
  inFlight: InFlight;
  managementBodies: ByteBudget;
  baseUrl: string;
  captureBaseUrl: string | undefined;
  /** Asks the workers to purge the entries of deleted endpoints soon; never fails. */
  requestPurge: () => Promise<void>;
  /** Tells those who follow a deleted endpoint, on every process; never fails. */
  wakeFollowers: (endpointId: string) => Promise<void>;
  log: Log;
}

export function endpointRoutes(router: Router, options: EndpointRouteOptions): void {
  const { db, endpoints, quota, inFlight, managementBodies, baseUrl, captureBaseUrl, log } = options;

  router.post('/api/endpoints', jsonBody({ budget: managementBodies, ownerOf: principal }), async (ctx) => {
    const { userId, plan } = principal(ctx);
    const { permanent, alias } = validate(createEndpointBody, ctx.request.body);
    if (alias !== null && !plan.customAlias) throw forbidden(`The plan "${plan.name}" has no custom aliases`);
    const now = new Date();
    const expiry = expiryOf(plan, permanent, now.getTime());
    const expiresAt = expiry === null ? null : new Date(expiry);
    const id = newEndpointId();
    const endpoint = await insertEndpoint(db.knex, { id, userId, alias, permanent, expiresAt, now, plan }).catch(
      toHttpError,
    );
    await announceNew(endpoint, alias);
    ctx.status = 201;
    ctx.body = presentCreated(endpoint, captureBaseUrl ?? baseUrl);
  });

  router.get('/api/endpoints', async (ctx) => {
    const { userId, plan } = principal(ctx);
    const page = validate(endpointPageQuery, ctx.query);
    await inFlight.settleForRead(ctx);
    const now = new Date();
    const found = await listEndpoints(db.knex, userId, now, page);
    if (found === undefined) throw badRequest('before: must be the id of one of your endpoints');
    const total = await countEndpoints(db.knex, userId, now);
    const dailyRequests = await findUsage(db.knex, userId, utcDay(now.getTime()));
    const usage = { dailyRequests, dailyRequestsMax: plan.dailyRequests };
    ctx.body = { endpoints: found.map(presentEndpoint), usage, total, limit: page.limit, offset: page.offset };
  });

  router.get('/api/endpoints/:id', async (ctx) => {
    const { userId } = principal(ctx);
    await inFlight.settleForRead(ctx);
    ctx.body = presentEndpoint(await findOwned(userId, ctx.params['id']));
  });

  router.delete('/api/endpoints/:id', async (ctx) => {
    const { userId } = principal(ctx);
    const endpoint = await findOwned(userId, ctx.params['id']);
    // Captures stop first: once the row is removed, no receipt may be sent.
    const removed = await endpoints.withCapturesStopped(endpoint, () =>
      removeEndpoint(db.knex, userId, endpoint.id, new Date()),
    );
    if (!removed) throw notFound();
    await Promise.all([options.requestPurge(), options.wakeFollowers(endpoint.id)]);
    ctx.body = { success: true };
  });

  async function findOwned(userId: string, id = ''): Promise<Endpoint> {
    const found = isUuid(id) ? await findEndpoint(db.knex, userId, id) : undefined;
    if (found === undefined) throw notFound();
    return found;
  }

  /** Without Redis the first capture finds the endpoint in the database. */
  async function announceNew(target: NewTarget, alias: string | null): Promise<void> {
    try {
      await Promise.all([endpoints.created(target, alias), quota.prepare(target.userId)]);
    } catch (error) {
      log.warn({ error: describeError(error) }, 'New endpoint not announced: Redis is unreachable');
    }
  }
}

/** @throws HttpError 403, 409; otherwise the error itself */
function toHttpError(error: unknown): never {
  if (error instanceof AliasTaken) throw conflict(`The alias "${error.message}" is taken`);
  if (error instanceof TooManyEndpoints)
    throw forbidden(`Your plan allows ${error.max} ${error.kind}, and you have ${error.held}`);
  throw error;
}
