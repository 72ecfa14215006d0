import { randomUUID } from 'node:crypto';
import type { Context, Next } from 'koa';
import type { Log } from '../../log.ts';
import type { ApiMetrics } from '../metrics.ts';

const REQUEST_ID_HEADER = 'X-Request-Id';

/** A request id that may be taken over from a proxy or client: it goes into the log and into a header. */
const VALID_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Paths contain ids, and user ids identify persons: a line has the route's pattern and the request's id instead. */
export function requestLog(metrics: ApiMetrics, log: Log) {
  return async (ctx: Context, next: Next): Promise<void> => {
    const start = performance.now();
    const sent = ctx.get(REQUEST_ID_HEADER);
    const requestId = VALID_ID.test(sent) ? sent : randomUUID();
    ctx.state['requestId'] = requestId;
    ctx.set(REQUEST_ID_HEADER, requestId);
    await next();
    if (ctx.res.closed) finish();
    else ctx.res.once('close', finish);

    function finish(): void {
      const ms = performance.now() - start;
      const [route, { status }] = [routeOf(ctx), ctx];
      metrics.httpRequests.inc({ route, status: `${Math.floor(status / 100)}xx` });
      metrics.httpRequestSeconds.observe({ route }, ms / 1000);
      const aborted = !ctx.res.writableFinished;
      log.info(
        { requestId, method: ctx.method, route, status, ms: Math.round(ms * 10) / 10, ...(aborted && { aborted }) },
        'Request',
      );
    }
  };
}

export function requestIdOf(ctx: Context): string | undefined {
  return ctx.state['requestId'] as string | undefined;
}

/** Not `_matchedRoute`: that is the pattern of the layer that ran last, which for a refused token is the guard's. */
function routeOf(ctx: Context): string {
  const { matched = [] } = ctx as Context & { matched?: { path: string | RegExp; methods: string[] }[] };
  return String(matched.findLast(({ methods }) => methods.length > 0)?.path ?? 'other');
}
