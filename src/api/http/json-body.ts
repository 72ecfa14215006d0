import type { IncomingMessage } from 'node:http';
import { koaBody, HttpMethodEnum } from 'koa-body';
import type { Context, Middleware, Next } from 'koa';
import { isHttpError } from 'http-errors';
import { badRequest, httpError, unavailable } from './errors.ts';
import { sendContinueIfExpected, discard, PACE, SenderGone, watchBody } from './body.ts';
import type { ByteBudget, Owner } from './byte-budget.ts';
import { parseFlatJson } from './flat-json.ts';

const MAX_BODY_BYTES = 64 * 1024;

const COMMON = {
  text: false,
  urlencoded: false,
  multipart: false,
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.DELETE],
};

export interface JsonBodyOptions {
  /** Memory for bodies of management requests, separate from that of captures. */
  budget: ByteBudget;
  ownerOf: (ctx: Context) => Owner;
  pace?: typeof PACE;
}

/**
 * Reads a JSON object into `ctx.request.body`; without a body that is `undefined`.
 * @throws HttpError 415 for a body without a JSON content type: if it were ignored, the sender would
 *   get the defaults unnoticed. 400, 408, 413 and 503 by the body; SenderGone when the sender disconnects
 */
export function jsonBody(options: JsonBodyOptions): Middleware {
  return bodyOf(koaBody({ ...COMMON, json: true, jsonLimit: MAX_BODY_BYTES }), MAX_BODY_BYTES, options);
}

/** The same for a body of at most `maxBytes` after decompression that consists mostly of a few long strings. */
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
    sendContinueIfExpected(req, ctx.res);
    const holding = budget.open(ownerOf(ctx));
    try {
      // The decompressed bytes are held as well.
      if (req.headers['content-encoding'] !== undefined && !holding.take(maxBytes))
        throw unavailable('Too many bodies are being received at once; try again');
      const { promise: failed, reject: fail } = Promise.withResolvers<never>();
      const reading = readJson(ctx, parse);
      const stopWatch = watchBody(req, holding, fail, pace);
      // koa-body waits without end for a compressed body that breaks off; the watch ends that.
      await Promise.race([reading, failed]).finally(stopWatch);
      await next();
    } finally {
      holding.release();
    }
  };
}

async function readJson(ctx: Context, parse: Middleware): Promise<void> {
  // null: there is no body; false: its content type is not JSON.
  const isJson = ctx.request.is('json', '+json');
  if (isJson === false && (await hasBytes(ctx.req))) {
    throw httpError(415, 'Send the body as JSON, with the header Content-Type: application/json');
  }
  // koa-body reads no body as {}, which a sender may also have sent.
  if (!isJson || ctx.get('Content-Length') === '0') return;
  try {
    await parse(ctx, async () => {});
  } catch (error) {
    throw translate(error);
  }
}

/** Errors of koa-body and zlib as answers to the sender; other errors are not the sender's fault. */
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
        : 'The body is not a JSON object that can be read',
    );
  if (status === 413) return httpError(413, 'The body is too large');
  if (status === 415) return httpError(415, 'The Content-Encoding is not supported');
  return error;
}

/** Whether any byte arrives before the end; the headers of an empty chunked body do not tell. */
function hasBytes(req: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    req.once('data', () => {
      discard(req);
      resolve(true);
    });
    req.once('end', () => resolve(false));
  });
}
