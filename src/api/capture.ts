import type { IncomingMessage } from 'node:http';
import { isHttpError } from 'http-errors';
import type { Context, Middleware, Next } from 'koa';
import { httpError, notFound, unavailable } from '../errors.ts';
import { isAliasShaped } from '../domain/endpoint.ts';
import { isUuid, newTimeOrderedId, timeOfId } from '../domain/ids.ts';
import { refusalLog, type Log } from '../log.ts';
import type { ApiMetrics, CaptureOutcome } from '../metrics.ts';
import { maxRequestSize, type Plan, type Plans } from '../plans.ts';
import type { CachedTarget, EndpointCache } from '../redis/endpoint-cache.ts';
import type { MemoryWatch } from '../redis/memory-watch.ts';
import { readBody, SenderGone, type ByteBudget } from './body.ts';
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
  metrics: ApiMetrics;
  log: Log;
}

/**
 * Captures any request to `/h/<id or alias>` and everything below it.
 * It stands before the router, because a capture needs none of what management routes need.
 */
export function capture(options: CaptureOptions): Middleware {
  const { captures, receiptSeconds } = options.metrics;
  const lookUpFailed = refusalLog(options.log, 'Captures refused: endpoints could not be looked up');

  return async (ctx: Context, next: Next) => {
    const target = originForm(ctx.req.url ?? '/');
    if (!/^\/h(?:[/?]|$)/.test(target)) return next();
    const start = performance.now();
    ctx.set('Access-Control-Allow-Origin', '*');
    try {
      await receive(ctx, target);
    } catch (error) {
      captures[outcomeOf(error)].inc();
      throw error;
    }
    captures.accepted.inc();
    // Koa writes the receipt in this same turn of the event loop.
    receiptSeconds.observe((performance.now() - start) / 1000);
  };

  async function receive(ctx: Context, target: string): Promise<void> {
    const limit = maxRequestSize(planOf(options.plans, await findTarget(options, keyOf(target), lookUpFailed)));
    const body = await readBody(ctx.req, ctx.res, limit, options.budget);
    try {
      // Anew: while the body came in, the endpoint may have been deleted, and its plan changed.
      const endpoint = await findTarget(options, keyOf(target), lookUpFailed);
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
  }
}

/** Everything that is no error of ours is answered with a 5xx, see `error-handler.ts`. */
export function outcomeOf(error: unknown): CaptureOutcome {
  if (error instanceof SenderGone) return 'aborted';
  const status = isHttpError(error) ? error.status : 500;
  return OUTCOMES[status] ?? (status < 500 ? 'refused' : 'unavailable');
}

const OUTCOMES: Record<number, CaptureOutcome> = { 404: 'unknown_endpoint', 410: 'expired', 413: 'too_large', 429: 'over_quota' };

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
async function findTarget({ endpoints, memory }: CaptureOptions, key: string, onError: (error: unknown) => void): Promise<CachedTarget> {
  let endpoint: CachedTarget | undefined;
  try {
    endpoint = isUuid(key) || isAliasShaped(key) ? await endpoints.find(key) : undefined;
  } catch (error) {
    onError(error);
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
