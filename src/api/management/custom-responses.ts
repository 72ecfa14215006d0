import type { Router } from '@koa/router';
import { isSent, presentResponse, type CustomResponse, type CustomResponses } from '../../domain/custom-response.ts';
import { isUuid } from '../../domain/ids.ts';
import { describeError, type Log } from '../../log.ts';
import type { EndpointCache } from '../../redis/endpoint-cache.ts';
import { changeResponse, findResponse } from '../../store/custom-responses.ts';
import type { Database } from '../../store/database.ts';
import { principal } from '../auth/token.ts';
import type { ByteBudget } from '../http/byte-budget.ts';
import { forbidden, notFound, unavailable } from '../http/errors.ts';
import { jsonBody } from '../http/json-body.ts';
import { validate } from '../http/validate.ts';
import { customResponseBody, customResponseOf } from './custom-response-schemas.ts';

export interface CustomResponseRouteOptions {
  db: Database;
  endpoints: EndpointCache;
  managementBodies: ByteBudget;
  customResponses: CustomResponses;
  log: Log;
}

export function customResponseRoutes(router: Router, options: CustomResponseRouteOptions): void {
  const { db, endpoints, managementBodies, customResponses: mode, log } = options;
  const path = '/api/endpoints/:id/response';

  router.put(path, jsonBody({ budget: managementBodies, ownerOf: principal }), async (ctx) => {
    const response = customResponseOf(validate(customResponseBody, ctx.request.body));
    if (!isSent(response, mode))
      throw forbidden(`This installation sends no ${mode === 'off' ? 'custom responses' : 'redirects'}`);
    await change(principal(ctx).userId, ctx.params['id'], response);
    ctx.body = presentResponse(response);
  });

  router.get(path, async (ctx) => {
    const id = ctx.params['id'] ?? '';
    const response = isUuid(id) ? await findResponse(db.knex, principal(ctx).userId, id) : undefined;
    if (response === undefined) throw notFound();
    if (response === null) throw notFound('This endpoint answers with the receipt');
    ctx.body = presentResponse(response);
  });

  router.delete(path, async (ctx) => {
    await change(principal(ctx).userId, ctx.params['id'], null);
    ctx.body = { success: true };
  });

  /** Redis is marked before the commit, so the two cannot disagree after a failure. */
  async function change(userId: string, id = '', response: CustomResponse | null): Promise<void> {
    if (!isUuid(id)) throw notFound();
    const changed = await changeResponse(db.knex, userId, id, response, async (before) => {
      if (!(await endpoints.beginResponseChange(before))) throw unavailable('Others change this endpoint; try again');
    });
    if (changed === undefined) throw notFound();
    await endpoints.finishResponseChange(changed).catch((error: unknown) => {
      log.warn({ error: describeError(error) }, 'Custom response not announced; look-ups read it from the database');
    });
  }
}
