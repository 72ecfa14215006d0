import type { Context, Next } from 'koa';
import { isHttpError } from 'http-errors';
import { unavailable, type ErrorExtras } from './errors.ts';
import { describeError, type Log } from '../../log.ts';
import { isUnavailable } from '../../store/sql-errors.ts';
import { SenderGone } from './body.ts';
import { requestIdOf } from './request-log.ts';

/** Renders every error as `{error, …}` without internal details. */
export function errorHandler(log: Log) {
  return async (ctx: Context, next: Next): Promise<void> => {
    try {
      await next();
      if (ctx.status === 404 && ctx.body == null) respond(ctx, 404, 'Not found');
    } catch (error) {
      // The sender cannot read this; by the status, log and metrics distinguish aborted requests from answered ones.
      if (error instanceof SenderGone) return respond(ctx, 400, 'The request broke off');
      const known = translate(error);
      const requestId = requestIdOf(ctx);
      if (known === undefined) {
        log.error({ requestId, method: ctx.method, error: describeError(error) }, 'Unexpected error');
        return respond(ctx, 500, 'Something went wrong here; the log of the service has the cause');
      }
      // Only faults of the service: an error about a request may quote it. Captures are too many for a log line each.
      if (known.status >= 500 && requestId !== undefined)
        log.warn({ requestId, status: known.status, error: describeError(error) }, 'Request failed');
      respond(ctx, known.status, known.message, (known as { extras?: ErrorExtras }).extras);
    }
  };
}

interface KnownError {
  status: number;
  message: string;
}

/** Our own errors unchanged; an unreachable database or Redis as 503. */
function translate(error: unknown): KnownError | undefined {
  if (isHttpError(error) && 'extras' in error) return error;
  if (isUnavailable(error) || isRedisDown(error)) return unavailable('The service cannot reach its storage; try again');
  return undefined;
}

function isRedisDown(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === 'MaxRetriesPerRequestError' ||
    /^(Connection is closed\.|Command timed out|Stream isn't writeable|Redis is loading|no answer in|LOADING|OOM |MISCONF|READONLY|CLUSTERDOWN)/.test(
      error.message,
    )
  );
}

function respond(ctx: Context, status: number, message: string, extras: ErrorExtras = {}): void {
  ctx.status = status;
  ctx.set(extras.headers ?? {});
  ctx.body = { error: message, ...extras.body };
}
