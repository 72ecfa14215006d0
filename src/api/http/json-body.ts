import type { IncomingMessage } from 'node:http';
import { koaBody, HttpMethodEnum } from 'koa-body';
import type { Context, Middleware, Next } from 'koa';
import { isHttpError } from 'http-errors';
import { badRequest, httpError, unavailable } from './errors.ts';
import { continueIfAsked, discard, PACE, SenderGone, watchBody } from './body.ts';
import type { ByteBudget, Owner } from './byte-budget.ts';
import { parseFlatJson } from './flat-json.ts';

/** Management bodies are small. */
const MAX_BODY_BYTES = 64 * 1024;

const COMMON = {
  text: false,
  urlencoded: false,
  multipart: false,
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.DELETE],
};

export interface JsonBodyOptions {
  /** Memory for bodies of management requests, which is not that of captures. */
  budget: ByteBudget;
  ownerOf: (ctx: Context) => Owner;
  pace?: typeof PACE;
}

/**
 * Reads a JSON object into `ctx.request.body`; no body is `undefined`.
 *
 * @throws HttpError 415 for a body that does not say it is JSON: read as nothing it would be answered as if the
 *   sender had asked for the defaults. 400, 408, 413 and 503 as the body is; SenderGone when the sender breaks off
 */
export function jsonBody(options: JsonBodyOptions): Middleware {
  return bodyOf(koaBody({ ...COMMON, json: true, jsonLimit: MAX_BODY_BYTES }), MAX_BODY_BYTES, options);
}

/** The same for a body of at most `maxBytes`, inflated, whose size is in a few long strings. */
export function flatJsonBody(options: JsonBodyOptions, maxBytes: number): Middleware {
  const read = koaBody({ ...COMMON, json: false, text: true, textTypes: ['json', '+json'], textLimit: maxBytes });
  const parse: Middleware = async (ctx, next) => {
    await read(ctx, next);
    const text = ctx.request.body as string;
    ctx.request.body = text === '' ? {} : await parseFlatJson(text);
  };
  return bodyOf(parse, maxBytes, options);
}

function bodyOf(parse: Middleware, maxBytes: number, { budget, ownerOf, pace = PACE }: JsonBodyOptions): Middleware {
  return async (ctx: Context, next: Next) => {
    const { req } = ctx;
    if (req.destroyed && !req.complete) throw new SenderGone();
    continueIfAsked(req, ctx.res);
    const holding = budget.open(ownerOf(ctx));
    try {
      // What it is inflated to is held as well.
      if (req.headers['content-encoding'] !== undefined && !holding.take(maxBytes))
        throw unavailable('Too many bodies are being received at once; try again');
      const { promise: failed, reject: fail } = Promise.withResolvers<never>();
      const reading = readJson(ctx, parse);
      const stopWatch = watchBody(req, holding, fail, pace);
      // A compressed body that breaks off never ends for koa-body: the watch ends it.
      await Promise.race([reading, failed]).finally(stopWatch);
      await next();
    } finally {
      holding.release();
    }
  };
}

async function readJson(ctx: Context, parse: Middleware): Promise<void> {
  // null: there is no body; false: it does not say that it is JSON.
  const isJson = ctx.request.is('json', '+json');
  if (isJson === false && (await hasBytes(ctx.req))) {
    throw httpError(415, 'Send the body as JSON, with the header Content-Type: application/json');
  }
  // koa-body reads no body as {}, which a sender may also have meant.
  if (!isJson || ctx.get('Content-Length') === '0') return;
  try {
    await parse(ctx, async () => {});
  } catch (error) {
    throw translate(error);
  }
}

/** What koa-body and zlib say of a body, as answers to its sender; anything else is not the sender's fault. */
function translate(error: unknown): unknown {
  if (isHttpError(error) && 'extras' in error) return error;
  const { status, code, type } = error as { status?: number; code?: string; type?: string };
  if (type === 'request.aborted' || code === 'ECONNRESET') return new SenderGone();
  if (
    code?.startsWith('Z_') ||
    code?.startsWith('ERR__ERROR_') ||
    code?.startsWith('ERR_BROTLI') ||
    code?.startsWith('ERR_BUFFER_ERROR')
  ) {
    return badRequest('The body is not what its Content-Encoding says');
  }
  if (status === 400)
    return badRequest(
      error instanceof SyntaxError
        ? 'The body is not valid JSON, or not an object'
        : 'The body is not a JSON object that can be taken',
    );
  if (status === 413) return httpError(413, 'The body is too large');
  if (status === 415) return httpError(415, 'The Content-Encoding is not supported');
  return error;
}

/** Whether anything comes before the end; an empty body in chunks announces itself like a full one. */
function hasBytes(req: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    req.once('data', () => {
      discard(req);
      resolve(true);
    });
    req.once('end', () => resolve(false));
  });
}
