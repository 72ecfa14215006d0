import type { IncomingMessage } from 'node:http';
import { koaBody, HttpMethodEnum } from 'koa-body';
import type { Context, Middleware, Next } from 'koa';
import { httpError } from '../errors.ts';
import { continueIfAsked, discard } from './body.ts';
import { parseFlatJson } from './flat-json.ts';

/** Management bodies are small. */
const MAX_BODY_BYTES = 64 * 1024;

const COMMON = {
  text: false,
  urlencoded: false,
  multipart: false,
  parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.DELETE],
};

/**
 * Reads a JSON object into `ctx.request.body`; no body is `undefined`.
 *
 * @throws HttpError 415 for a body that does not say it is JSON: read as nothing it would be
 *   answered as if the sender had asked for the defaults. 400 and 413 come from koa-body.
 */
export function jsonBody(): Middleware {
  return bodyOf(koaBody({ ...COMMON, json: true, jsonLimit: MAX_BODY_BYTES }));
}

/** The same for a body whose size is in a few long strings. */
export function flatJsonBody(maxBytes: number): Middleware {
  const read = koaBody({ ...COMMON, json: false, text: true, textTypes: ['json', '+json'], textLimit: maxBytes });
  return bodyOf(async (ctx, next) => {
    await read(ctx, next);
    const text = ctx.request.body as string;
    ctx.request.body = text === '' ? {} : await parseFlatJson(text);
  });
}

function bodyOf(parse: Middleware): Middleware {
  return async (ctx: Context, next: Next) => {
    continueIfAsked(ctx.req, ctx.res);
    // null: there is no body; false: it does not say that it is JSON.
    const isJson = ctx.request.is('json', '+json');
    if (isJson === false && (await hasBytes(ctx.req))) {
      throw httpError(415, 'Send the body as JSON, with the header Content-Type: application/json');
    }
    // koa-body reads no body as {}, which a sender may also have meant.
    if (isJson && ctx.get('Content-Length') !== '0') await parse(ctx, async () => {});
    await next();
  };
}

/** Whether anything comes before the end; an empty body in chunks announces itself like a full one. */
async function hasBytes(req: IncomingMessage): Promise<boolean> {
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    if ((chunk as Buffer).length > 0) {
      discard(req);
      return true;
    }
  }
  return false;
}
