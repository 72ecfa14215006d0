import { isHttpError } from 'http-errors';
import type { IncomingMessage, ServerResponse } from 'node:http';
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

/** After this time an endpoint is looked up again, in case that the announcement of a change was lost. */
const LOOK_AGAIN_MS = 1_000;

interface Kept {
  endpoint: CachedTarget;
  receipt: Receipt;
}

/**
 * Captures any request to `/h/<id or alias>` and below. It is the first middleware, and its steps wait only for what is
 * not there yet, because most of the cost of a receipt is here.
 */
export function capture(options: CaptureOptions): Middleware {
  const { captures, receiptSeconds } = options.metrics;

  return (ctx: Context, next: Next) => {
    const target = ctx.req.url ?? '/';
    return isCaptureTarget(target) ? captureAndAnswer(ctx, target) : next();
  };

  async function captureAndAnswer(ctx: Context, target: string): Promise<void> {
    const start = performance.now();
    let kept: Kept;
    try {
      kept = await receive(ctx, target);
    } catch (error) {
      ctx.set(CAPTURE_HEADERS);
      captures[outcomeOf(error)].inc();
      throw error;
    }
    captures.accepted.inc();
    // The receipt is written in this turn of the event loop; the delay of a custom response does not count.
    receiptSeconds.observe((performance.now() - start) / 1000);
    await answer(ctx, kept.endpoint, kept.receipt, options);
  }

  async function receive({ req, res }: Context, target: string): Promise<Kept> {
    checkHost(req);
    if (!options.hosts.takeCapture(req)) throw noEndpoint();
    const key = keyOf(target);
    const version = options.endpoints.version();
    let endpoint = options.endpoints.peek(key) ?? (await findTarget(options, key));
    const foundAt = performance.now();
    const plan = planFor(options, endpoint);
    const holding = options.captureBodies.open({ userId: endpoint.userId, endpointId: endpoint.id });
    try {
      const body = await receiveBody(req, res, maxRequestSize(plan), holding);
      // While the body arrived, the endpoint may have been deleted, or its plan changed.
      const isOld = performance.now() - foundAt > LOOK_AGAIN_MS;
      if (isOld || version !== options.endpoints.version()) endpoint = await findTarget(options, key);
      const { dailyRequests } = planFor(options, endpoint);
      const id = newTimeOrderedId();
      const captured = {
        id,
        endpointId: endpoint.id,
        userId: endpoint.userId,
        method: req.method ?? '',
        target,
        rawHeaders: req.rawHeaders,
        ip: senderAddress(req, options.trustProxyHops),
        body,
      };
      await options.intake.submit(captured, dailyRequests);
      return { endpoint, receipt: receiptOf(id, body) };
    } finally {
      holding.release();
    }
  }

  async function receiveBody(
    req: IncomingMessage,
    res: ServerResponse,
    limit: number,
    holding: Holding,
  ): Promise<Buffer> {
    try {
      return await readBody(req, res, limit, holding);
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

/** `/h` and what is below it. */
function isCaptureTarget(target: string): boolean {
  return target.startsWith('/h') && (target.length === 2 || target[2] === '/' || target[2] === '?');
}

function keyOf(target: string): string {
  const key = /^\/h\/([^/?]*)/.exec(target)?.[1] ?? '';
  return isUuid(key) ? key.toLowerCase() : key;
}

/** @throws HttpError 404, or 503 when the endpoint cannot be looked up now */
async function findTarget({ endpoints, memory, refuse }: CaptureOptions, key: string): Promise<CachedTarget> {
  let endpoint: CachedTarget | undefined;
  try {
    endpoint = isUuid(key) || isAliasShaped(key) ? await endpoints.find(key) : undefined;
  } catch (error) {
    throw refuse(memory.refusing() ? 'redis_full' : 'lookup', error);
  }
  if (endpoint === undefined) throw noEndpoint();
  return endpoint;
}

/** @throws HttpError 410, or 503 when no capture can be accepted now or this process does not have the owner's plan */
function planFor({ memory, plans, refuse }: CaptureOptions, { expiresAt, plan }: CachedTarget): Plan {
  if (expiresAt !== null && expiresAt <= Date.now()) throw httpError(410, 'This endpoint has expired');
  if (memory.refusing()) throw refuse('redis_full');
  const found = plans.get(plan);
  if (found === undefined) throw refuse('plan');
  return found;
}

function noEndpoint(): Error {
  return notFound('There is no endpoint at this address');
}
