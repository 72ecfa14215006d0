import { isHttpError } from 'http-errors';
import type { Context, Middleware, Next } from 'koa';
import { httpError, notFound } from '../http/errors.ts';
import { isAliasShaped } from '../../domain/alias.ts';
import { isUuid, newTimeOrderedId, timeOfId } from '../../domain/ids.ts';
import type { ApiMetrics, CaptureOutcome } from '../metrics.ts';
import { maxRequestSize, type Plan, type Plans } from '../../plans.ts';
import type { CachedTarget, EndpointCache } from '../../redis/endpoint-cache.ts';
import type { MemoryWatch } from '../../redis/memory-watch.ts';
import { readBody, SenderGone } from '../http/body.ts';
import type { ByteBudget, Holding } from '../http/byte-budget.ts';
import { checkHost } from '../http/host.ts';
import type { Intake } from './intake.ts';
import type { Refuse } from './refusals.ts';
import { senderAddress } from '../http/sender-address.ts';

/** Slack's challenges have about 50 characters, in a small request. */
const MAX_CHALLENGE_LENGTH = 256;
const MAX_CHALLENGE_BODY_BYTES = 8 * 1024;

export interface CaptureOptions {
  endpoints: EndpointCache;
  intake: Intake;
  captureBodies: ByteBudget;
  memory: MemoryWatch;
  plans: Plans;
  trustProxyHops: number;
  metrics: ApiMetrics;
  refuse: Refuse;
}

/** Captures any request to `/h/<id or alias>` and below, before the router and the management middleware. */
export function capture(options: CaptureOptions): Middleware {
  const { captures, receiptSeconds } = options.metrics;

  return async (ctx: Context, next: Next) => {
    const target = ctx.req.url ?? '/';
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
    // Koa writes the receipt in this turn of the event loop.
    receiptSeconds.observe((performance.now() - start) / 1000);
  };

  async function receive(ctx: Context, target: string): Promise<void> {
    checkHost(ctx.req);
    const { id: endpointId, userId, plan } = await findTarget(options, keyOf(target));
    const holding = options.captureBodies.open({ userId, endpointId });
    try {
      const body = await receiveBody(ctx, maxRequestSize(planOf(options, plan)), holding);
      // Repeated: while the body arrived, the endpoint may have been deleted, or its plan changed.
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
      await options.intake.submit(captured, planOf(options, endpoint.plan).dailyRequests);
      if (ctx.method === 'OPTIONS') allowEverything(ctx);
      ctx.body = { received: true, id, timestamp: timeOfId(id), ...challengeOf(body) };
    } finally {
      holding.release();
    }
  }

  async function receiveBody(ctx: Context, limit: number, holding: Holding): Promise<Buffer> {
    try {
      return await readBody(ctx.req, ctx.res, limit, holding);
    } catch (error) {
      throw isHttpError(error) && error.status === 503 ? options.refuse('body_memory') : error;
    }
  }
}

/** Errors that are not HTTP errors are answered with a 5xx, see `error-handler.ts`. */
export function outcomeOf(error: unknown): CaptureOutcome {
  if (error instanceof SenderGone) return 'aborted';
  const status = isHttpError(error) ? error.status : 500;
  return OUTCOMES[status] ?? (status < 500 ? 'refused' : 'unavailable');
}

const OUTCOMES: Record<number, CaptureOutcome> = {
  404: 'unknown_endpoint',
  410: 'expired',
  413: 'too_large',
  429: 'over_quota',
};

function keyOf(target: string): string {
  const key = /^\/h\/([^/?]*)/.exec(target)?.[1] ?? '';
  return isUuid(key) ? key.toLowerCase() : key;
}

/** @throws HttpError 404, 410, or 503 when no capture can be accepted now */
async function findTarget({ endpoints, memory, refuse }: CaptureOptions, key: string): Promise<CachedTarget> {
  let endpoint: CachedTarget | undefined;
  try {
    endpoint = isUuid(key) || isAliasShaped(key) ? await endpoints.find(key) : undefined;
  } catch (error) {
    throw refuse(memory.refusing() ? 'redis_full' : 'lookup', error);
  }
  if (endpoint === undefined) throw notFound('There is no endpoint at this address');
  if (endpoint.expiresAt !== null && endpoint.expiresAt <= Date.now()) {
    throw httpError(410, 'This endpoint has expired');
  }
  if (memory.refusing()) throw refuse('redis_full');
  return endpoint;
}

/** @throws HttpError 503 when this process is not configured with the owner's plan */
function planOf({ plans, refuse }: CaptureOptions, name: string): Plan {
  const plan = plans.get(name);
  if (plan === undefined) throw refuse('plan');
  return plan;
}

function allowEverything(ctx: Context): void {
  ctx.set('Access-Control-Allow-Methods', ctx.get('Access-Control-Request-Method') || '*');
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers') || '*');
  ctx.set('Access-Control-Max-Age', '600');
}

/** Slack expects a new receiver to echo a challenge (https://docs.slack.dev/reference/events/url_verification). */
function challengeOf(body: Buffer): { challenge?: string } {
  if (body.length > MAX_CHALLENGE_BODY_BYTES || !body.includes('url_verification')) return {};
  try {
    const { type, challenge } = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const echo =
      type === 'url_verification' && typeof challenge === 'string' && challenge.length <= MAX_CHALLENGE_LENGTH;
    return echo ? { challenge } : {};
  } catch {
    return {};
  }
}
