import type { IncomingMessage } from 'node:http';
import type { Context, Middleware, Next } from 'koa';
import { httpError, notFound, unavailable } from '../errors.ts';
import { isAliasShaped } from '../domain/endpoint.ts';
import { isUuid, newTimeOrderedId, timeOfId } from '../domain/ids.ts';
import { describeError, type Log } from '../log.ts';
import { maxRequestSize, type Plan, type Plans } from '../plans.ts';
import type { CachedTarget, EndpointCache } from '../redis/endpoint-cache.ts';
import type { MemoryWatch } from '../redis/memory-watch.ts';
import { readBody, type ByteBudget } from './body.ts';
import type { Intake } from './intake.ts';
import { senderAddress } from './sender-address.ts';

/** Slack's challenges have some 50 characters; the request that carries one is small. */
const MAX_CHALLENGE_LENGTH = 256;
const MAX_CHALLENGE_BODY_BYTES = 8 * 1024;

export interface CaptureOptions {
  endpoints: EndpointCache;
  intake: Intake;
  budget: ByteBudget;
  /** Says when Redis is too full to take captures. */
  memory: MemoryWatch;
  plans: Plans;
  trustProxyHops: number;
  log: Log;
}

/**
 * Captures any request to `/h/<id or alias>` and everything below it.
 * It stands before the router, because a capture needs none of what management routes need.
 */
export function capture(options: CaptureOptions): Middleware {
  return async (ctx: Context, next: Next) => {
    const target = originForm(ctx.req.url ?? '/');
    if (!/^\/h(?:[/?]|$)/.test(target)) return next();
    ctx.set('Access-Control-Allow-Origin', '*');
    const limit = maxRequestSize(planOf(options.plans, await findTarget(options, keyOf(target))));
    const body = await readBody(ctx.req, ctx.res, limit, options.budget);
    try {
      // Anew: while the body came in, the endpoint may have been deleted, and its plan changed.
      const endpoint = await findTarget(options, keyOf(target));
      const id = newTimeOrderedId();
      const captured = {
        id,
        endpointId: endpoint.id,
        userId: endpoint.userId,
        method: ctx.method,
        target,
        rawHeaders: ctx.req.rawHeaders,
        ip: senderAddress(ctx.req, options.trustProxyHops),
        body,
      };
      await options.intake.submit(captured, planOf(options.plans, endpoint).dailyRequests);
      if (ctx.method === 'OPTIONS') allowEverything(ctx);
      ctx.body = { received: true, id, timestamp: timeOfId(id), ...challengeOf(body) };
    } finally {
      options.budget.give(body.length);
    }
  };
}

/**
 * Path and query as sent. A client that talks to a proxy sends the absolute form,
 * which servers have to take as well (RFC 9112, section 3.2.2).
 */
export function originForm(url: NonNullable<IncomingMessage['url']>): string {
  if (url.startsWith('/')) return url;
  const rest = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function keyOf(target: string): string {
  const key = /^\/h\/([^/?]*)/.exec(target)?.[1] ?? '';
  return isUuid(key) ? key.toLowerCase() : key;
}

/** @throws HttpError 404, 410, or 503 when nothing can be taken now */
async function findTarget({ endpoints, memory, log }: CaptureOptions, key: string): Promise<CachedTarget> {
  let endpoint: CachedTarget | undefined;
  try {
    endpoint = isUuid(key) || isAliasShaped(key) ? await endpoints.find(key) : undefined;
  } catch (error) {
    log.error({ error: describeError(error) }, 'Capture refused: the endpoint could not be looked up');
    throw unavailable('The endpoint could not be looked up; send this request again');
  }
  if (endpoint === undefined) throw notFound('There is no endpoint at this address');
  if (endpoint.expiresAt !== null && endpoint.expiresAt <= Date.now()) {
    throw httpError(410, 'This endpoint has expired');
  }
  if (memory.refusing()) throw unavailable('The queue is full; send this request again');
  return endpoint;
}

/** @throws HttpError 503 when this process has not been told of the owner's plan */
function planOf(plans: Plans, endpoint: CachedTarget): Plan {
  const plan = plans.get(endpoint.plan);
  if (plan === undefined) throw unavailable('The plan of this endpoint is not configured here');
  return plan;
}

function allowEverything(ctx: Context): void {
  ctx.set('Access-Control-Allow-Methods', ctx.get('Access-Control-Request-Method') || '*');
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers') || '*');
  ctx.set('Access-Control-Max-Age', '600');
}

/** Slack asks a new receiver to echo a challenge (https://docs.slack.dev/reference/events/url_verification). */
function challengeOf(body: Buffer): { challenge?: string } {
  if (body.length > MAX_CHALLENGE_BODY_BYTES || !body.includes('url_verification')) return {};
  try {
    const { type, challenge } = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const echo = type === 'url_verification' && typeof challenge === 'string' && challenge.length <= MAX_CHALLENGE_LENGTH;
    return echo ? { challenge } : {};
  } catch {
    return {};
  }
}
