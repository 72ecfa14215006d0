import Koa, { type Context, type Next } from 'koa';
import { Router } from '@koa/router';
import type { Redis } from 'ioredis';
import type { JwtConfig } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { httpError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ApiMetrics } from '../metrics.ts';
import type { Plans } from '../plans.ts';
import type { EndpointCache } from '../redis/endpoint-cache.ts';
import type { MemoryWatch } from '../redis/memory-watch.ts';
import type { Quota } from '../redis/quota.ts';
import type { Database } from '../store/database.ts';
import { authenticate, principal } from './auth/token.ts';
import type { ByteBudget } from './http/byte-budget.ts';
import { capture } from './capture/capture.ts';
import { endpointRoutes } from './management/endpoints.ts';
import { errorHandler } from './http/error-handler.ts';
import { checkHost } from './http/host.ts';
import type { InFlight } from './management/in-flight.ts';
import type { Intake } from './capture/intake.ts';
import type { KeySource } from './auth/jwks-source.ts';
import { openApiDocument } from './management/openapi.ts';
import { rateLimit } from './http/rate-limit.ts';
import type { Refuse } from './capture/refusals.ts';
import { requestLog } from './http/request-log.ts';
import { requestRoutes } from './management/requests.ts';
import { networkOf, senderAddress } from './http/sender-address.ts';
import { verifySignatureRoutes, verifyStoredRoutes } from './management/verify-signature.ts';

/** More than the wait for captures in flight and a slow query together. */
const MANAGEMENT_DEADLINE_MS = 15_000;

/** Everything the routes work with. */
export interface ApiDependencies {
  db: Database;
  endpoints: EndpointCache;
  quota: Quota;
  intake: Intake;
  inFlight: InFlight;
  /** Memory for bodies of captures, for those of management requests, and for entries on their way to readers. */
  budget: ByteBudget;
  managementBodies: ByteBudget;
  answers: ByteBudget;
  refuse: Refuse;
  memory: MemoryWatch;
  plans: Plans;
  defaultPlan: string;
  jwt: JwtConfig;
  keySource: KeySource;
  baseUrl: string;
  trustProxyHops: number;
  /** Requests a minute of one user to the management API, and of one address to signature checks; 0 = no limit. */
  apiRateLimitPerMinute: number;
  verifyRateLimitPerMinute: number;
  cacheRedis: Redis;
  redisPrefix: string;
  metrics: ApiMetrics;
  log: Log;
  rememberPlan: (userId: string, plan: string) => Promise<void>;
  /** Asks the workers to purge the entries of deleted endpoints soon; never fails. */
  requestPurge: () => Promise<void>;
}

/** The HTTP interface as a Koa app that listens nowhere yet. */
export function createApp(api: ApiDependencies): Koa {
  const app = new Koa();
  // What is thrown outside of the error handler is a connection that broke while it was answered.
  app.silent = true;
  app.use(responseHeaders);
  const renderErrors = errorHandler(api.log);
  app.use(renderErrors);
  app.use(capture(api));
  app.use(requestLog(api.metrics, api.log));
  // Once more below the log, so that it knows the status of what went wrong.
  app.use(renderErrors);
  app.use(hostGuard);
  const { cacheRedis: redis, redisPrefix: prefix, log } = api;
  const open = new Router();
  const networkOfSender = (ctx: Context): string => networkOf(senderAddress(ctx.req, api.trustProxyHops));
  const perMinute = api.verifyRateLimitPerMinute;
  open.use(rateLimit({ name: 'verify', perMinute, keyOf: networkOfSender, redis, prefix, log }));
  verifySignatureRoutes(open, api);
  const document = openApiDocument(api.baseUrl);
  const about = new Router();
  about.get('/openapi.json', (ctx) => {
    ctx.body = document;
  });
  const guarded = new Router();
  guarded.use(answerInTime);
  guarded.use(authenticate(api));
  guarded.use(rateLimit({ name: 'api', perMinute: api.apiRateLimitPerMinute, keyOf: (ctx) => principal(ctx).userId, redis, prefix, log }));
  endpointRoutes(guarded, api);
  requestRoutes(guarded, api);
  verifyStoredRoutes(guarded, api);
  app.use(about.routes());
  app.use(open.routes());
  app.use(guarded.routes());
  app.use(methodNotAllowed([about, open, guarded]));
  return app;
}

/** A database that is frozen, rather than gone, would keep management requests waiting for ever. */
async function answerInTime(_ctx: Context, next: Next): Promise<void> {
  await withDeadline(MANAGEMENT_DEADLINE_MS, next());
}

async function hostGuard(ctx: Context, next: Next): Promise<void> {
  checkHost(ctx.req);
  await next();
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
