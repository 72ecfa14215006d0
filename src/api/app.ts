import type { Context, Next } from 'koa';
import { Router } from '@koa/router';
import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { authenticate } from './auth/authenticate.ts';
import { principal, type AuthOptions } from './auth/token.ts';
import { capture, type CaptureOptions } from './capture/capture.ts';
import { errorHandler } from './http/error-handler.ts';
import type { Hosts } from './http/capture-host.ts';
import { httpError, notFound } from './http/errors.ts';
import { LeanKoa } from './http/lean-koa.ts';
import { checkHost } from './http/host.ts';
import { rateLimit } from './http/rate-limit.ts';
import { requestLog } from './http/request-log.ts';
import { networkOf, senderAddress } from './http/sender-address.ts';
import { activityRoute } from './management/activity.ts';
import { customResponseRoutes, type CustomResponseRouteOptions } from './management/custom-responses.ts';
import { endpointRoutes, type EndpointRouteOptions } from './management/endpoints.ts';
import { entryListRoute, type EntryListOptions } from './management/entry-list.ts';
import { followRoutes, type FollowRouteOptions } from './management/follow.ts';
import { listenFileRoute } from './management/listen-file.ts';
import { openApiDocument } from './management/openapi.ts';
import { exportRoutes, type ExportRouteOptions } from './management/export.ts';
import { requestRoutes, type RequestRouteOptions } from './management/requests.ts';
import { shareRoutes, type ShareRouteOptions } from './management/share.ts';
import { sharePage } from './management/share-page.ts';
import { pageRoutes, type PageOptions } from './page/routes.ts';
import { verifySignatureRoutes, verifyStoredRoutes, type VerifyRouteOptions } from './management/verify-signature.ts';

/** Longer than the wait for captures in flight and one slow query together. */
const MANAGEMENT_DEADLINE_MS = 15_000;

/** Longer than the longest wait for an entry and all that together. */
const FOLLOW_DEADLINE_MS = 75_000;

export interface AppOptions
  extends
    CaptureOptions,
    CustomResponseRouteOptions,
    EndpointRouteOptions,
    EntryListOptions,
    RequestRouteOptions,
    FollowRouteOptions,
    ShareRouteOptions,
    ExportRouteOptions,
    VerifyRouteOptions,
    PageOptions,
    AuthOptions {
  /**
   * Requests a minute of one user, or of one address with one share link, to the management API, and of one address to
   * signature checks; 0 = no limit.
   */
  apiRateLimitPerMinute: number;
  verifyRateLimitPerMinute: number;
  cacheRedis: Redis;
  redisPrefix: string;
}

/** The HTTP interface as a Koa app; it does not listen yet. */
export function createApp(options: AppOptions): LeanKoa {
  const app = new LeanKoa();
  // Koa itself would log only what the error handler cannot catch: connections that broke during the answer.
  app.silent = true;
  const renderErrors = errorHandler(options.log);
  app.use(renderErrors);
  app.use(capture(options));
  app.use(responseHeaders);
  app.use(requestLog(options.metrics, options.log));
  // A second time below the log, because the log needs the status of a failed request.
  app.use(renderErrors);
  app.use(hostGuard(options.hosts));
  const { cacheRedis: redis, redisPrefix: prefix, log } = options;
  const open = new Router();
  const networkOfSender = (ctx: Context): string => networkOf(senderAddress(ctx.req, options.trustProxyHops));
  const perMinute = options.verifyRateLimitPerMinute;
  open.use(rateLimit({ name: 'verify', perMinute, keyOf: networkOfSender, redis, prefix, log }));
  verifySignatureRoutes(open, options);
  const document = openApiDocument(options.baseUrl, options.captureBaseUrl);
  const about = new Router();
  about.get('/openapi.json', (ctx) => {
    ctx.body = document;
  });
  listenFileRoute(about);
  if (!options.page) sharePage(about, options.baseUrl);
  pageRoutes(about, options);
  const authenticated = authenticate(options);
  const limit = { perMinute: options.apiRateLimitPerMinute, redis, prefix, log };
  const limitUsers = rateLimit({ ...limit, name: 'api', keyOf: (ctx) => principal(ctx).userId });
  const keyOfHolder = (ctx: Context): string => `${principal(ctx).share?.id} ${networkOfSender(ctx)}`;
  const limitHolders = rateLimit({ ...limit, name: 'share', keyOf: keyOfHolder });
  const limitCaller = (ctx: Context, next: Next): Promise<unknown> =>
    (principal(ctx).share === undefined ? limitUsers : limitHolders)(ctx, next);
  const following = new Router();
  following.use(limitDuration(FOLLOW_DEADLINE_MS), authenticated, limitCaller);
  followRoutes(following, options);
  const guarded = new Router();
  guarded.use(limitDuration(MANAGEMENT_DEADLINE_MS), authenticated, limitCaller);
  endpointRoutes(guarded, options);
  entryListRoute(guarded, options);
  activityRoute(guarded, options);
  customResponseRoutes(guarded, options);
  requestRoutes(guarded, options);
  shareRoutes(guarded, options);
  verifyStoredRoutes(guarded, options);
  exportRoutes(guarded, options);
  app.use(about.routes());
  app.use(open.routes());
  app.use(following.routes());
  app.use(guarded.routes());
  app.use(methodNotAllowed([about, open, following, guarded]));
  return app;
}

/** A database that hangs (and does not refuse) would keep management requests waiting without end. */
function limitDuration(ms: number) {
  return (_ctx: Context, next: Next): Promise<unknown> => withDeadline(ms, next());
}

function hostGuard(hosts: Hosts) {
  return async (ctx: Context, next: Next): Promise<void> => {
    checkHost(ctx.req);
    if (!hosts.takeManagement(ctx.req)) throw notFound();
    await next();
  };
}

async function responseHeaders(ctx: Context, next: Next): Promise<void> {
  ctx.set('Cache-Control', 'no-store');
  ctx.set('X-Content-Type-Options', 'nosniff');
  await next();
}

/** 405 with `Allow` where the path is known and the method is not; OPTIONS is answered with `Allow` alone. */
function methodNotAllowed(routers: Router[]) {
  return async (ctx: Context, next: Next): Promise<void> => {
    const layers = routers.flatMap((router) => router.match(ctx.path, ctx.method).path);
    const methods = [...new Set(layers.flatMap((layer) => layer.methods))];
    if (methods.length === 0) return next();
    const headers = { Allow: methods.join(', ') };
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set(headers);
      return;
    }
    throw httpError(405, `${ctx.method} is not possible here; ${headers.Allow} is`, { headers });
  };
}
