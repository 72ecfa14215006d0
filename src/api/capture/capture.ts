import { isHttpError } from 'http-errors';
import type { Context, Middleware, Next } from 'koa';
import { httpError, notFound } from '../http/errors.ts';
import { isAliasShaped } from '../../domain/alias.ts';
import { isUuid, newTimeOrderedId } from '../../domain/ids.ts';
import type { ApiMetrics, CaptureOutcome } from '../metrics.ts';
import { maxRequestSize, type Plan, type Plans } from '../../plans.ts';
import type { CachedTarget, EndpointCache } from '../../redis/endpoint-cache.ts';
import type { MemoryWatch } from '../../redis/memory-watch.ts';
import { readBody, SenderGone } from '../http/body.ts';
import type { ByteBudget, Holding } from '../http/byte-budget.ts';
import { CAPTURE_HEADERS } from '../http/capture-headers.ts';
import type { Hosts } from '../http/capture-host.ts';
import { checkHost } from '../http/host.ts';
import { answer, receiptOf, type AnswerOptions, type Receipt } from './answer.ts';
import type { Intake } from './intake.ts';
import type { Refuse } from './refusals.ts';
import { senderAddress } from '../http/sender-address.ts';

export interface CaptureOptions extends AnswerOptions {
  hosts: Hosts;
  endpoints: EndpointCache;
  intake: Intake;
  captureBodies: ByteBudget;
  memory: MemoryWatch;
  plans: Plans;
  trustProxyHops: number;
  metrics: ApiMetrics;
  refuse: Refuse;
}

interface Kept {
  endpoint: CachedTarget;
  receipt: Receipt;
}

/** Captures any request to `/h/<id or alias>` and below, before the router and the management middleware. */
export function capture(options: CaptureOptions): Middleware {
  const { captures, receiptSeconds } = options.metrics;

  return async (ctx: Context, next: Next) => {
    const target = ctx.req.url ?? '/';
    if (!/^\/h(?:[/?]|$)/.test(target)) return next();
    const start = performance.now();
    ctx.set(CAPTURE_HEADERS);
    ctx.set('Access-Control-Allow-Origin', '*');
    let kept: Kept;
    try {
      kept = await receive(ctx, target);
    } catch (error) {
      captures[outcomeOf(error)].inc();
      throw error;
    }
    captures.accepted.inc();
    // Koa writes the receipt in this turn of the event loop; the delay of a custom response does not count.
    receiptSeconds.observe((performance.now() - start) / 1000);
    await answer(ctx, kept.endpoint, kept.receipt, options);
  };

  async function receive(ctx: Context, target: string): Promise<Kept> {
    checkHost(ctx.req);
    if (!options.hosts.takeCapture(ctx.req)) throw noEndpoint();
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
      return { endpoint, receipt: receiptOf(id, body) };
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
  if (endpoint === undefined) throw noEndpoint();
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

function noEndpoint(): Error {
  return notFound('There is no endpoint at this address');
}
