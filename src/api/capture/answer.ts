import type { Context } from 'koa';
import { isSent, type CustomResponse, type CustomResponses } from '../../domain/custom-response.ts';
import { timeOfId } from '../../domain/ids.ts';
import type { CachedTarget } from '../../redis/endpoint-cache.ts';
import { CAPTURE_HEADERS, RECEIPT_HEADERS, REQUEST_ID_HEADER } from '../http/capture-headers.ts';
import type { Delays } from './delays.ts';

/** Slack's challenges have about 50 characters, in a small request. */
const MAX_CHALLENGE_LENGTH = 256;
const MAX_CHALLENGE_BODY_BYTES = 8 * 1024;

const DELAY_HEADER = 'X-Hookbay-Delay';

export interface Receipt {
  received: true;
  id: string;
  timestamp: number;
  challenge?: string;
}

export function receiptOf(id: string, body: Buffer): Receipt {
  return { received: true, id, timestamp: timeOfId(id), ...challengeOf(body) };
}

export interface AnswerOptions {
  customResponses: CustomResponses;
  delays: Delays;
}

/** Answers a capture that is kept: with its endpoint's response, otherwise with the receipt. */
export async function answer(
  ctx: Context,
  { id: endpointId, response }: CachedTarget,
  receipt: Receipt,
  { customResponses, delays }: AnswerOptions,
): Promise<void> {
  if (response === null || !isSent(response, customResponses) || isPreflight(ctx)) return answerReceipt(ctx, receipt);
  ctx.set(CAPTURE_HEADERS);
  ctx.set(REQUEST_ID_HEADER, receipt.id);
  if (response.delayMs > 0 && !(await delays.wait(ctx.req, endpointId, response.delayMs)))
    ctx.set(DELAY_HEADER, 'skipped');
  answerCustom(ctx, response);
}

/** In one call of Node: Koa's setters would take as long as the rest of an answer. */
function answerReceipt(ctx: Context, receipt: Receipt): void {
  if (ctx.method === 'OPTIONS') allowEverything(ctx);
  const text = JSON.stringify(receipt);
  ctx.respond = false;
  const ownHeaders = [REQUEST_ID_HEADER, receipt.id, 'Content-Length', Buffer.byteLength(text)];
  ctx.res.writeHead(200, [...RECEIPT_HEADERS, ...ownHeaders]);
  ctx.res.end(text);
}

function answerCustom(ctx: Context, { status, headers, body }: CustomResponse): void {
  ctx.status = status;
  ctx.set(headers);
  if (status === 205) return endWithLength(ctx);
  const hasType = ctx.res.hasHeader('Content-Type');
  ctx.body = body;
  // Koa gives a type to bytes without one.
  if (!hasType) ctx.remove('Content-Type');
}

/** Koa removes the length of an answer without a body, and a 205 needs one to keep the connection. */
function endWithLength(ctx: Context): void {
  ctx.respond = false;
  ctx.res.setHeader('Content-Length', 0);
  ctx.res.end();
}

/** Browsers ask before they send the request itself, which a custom answer would prevent. */
function isPreflight(ctx: Context): boolean {
  return ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== '';
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
