import Koa, { type Context } from 'koa';

type HandleRequest = (this: Koa, ctx: Context, middleware: (ctx: Context) => Promise<void>) => Promise<void>;

/** Not in Koa's types; others override it as well (Egg.js). */
const { handleRequest } = Koa.prototype as unknown as { handleRequest: HandleRequest };

/**
 * Koa, which does not watch answers that middleware writes itself (`ctx.respond = false`): its watch (`on-finished`)
 * takes a tenth of a receipt's time, to report errors of connections, which are not logged. Koa does all the rest after
 * the middleware: it answers, and watches its answers.
 */
export class LeanKoa extends Koa {
  handleRequest(ctx: Context, middleware: (ctx: Context) => Promise<void>): Promise<void> {
    ctx.res.statusCode = 404;
    return middleware(ctx).then(
      () => {
        if (ctx.respond === false) return;
        const { statusCode } = ctx.res;
        // Koa sets it to 404 again.
        return handleRequest.call(this, ctx, async () => void (ctx.res.statusCode = statusCode));
      },
      (error: unknown) => handleRequest.call(this, ctx, () => Promise.reject(error as Error)),
    );
  }
}
