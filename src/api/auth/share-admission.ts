import type { Context } from 'koa';
import type { Share } from '../../domain/share.ts';
import { forbidden, httpError, notFound, unauthorized } from '../http/errors.ts';
import type { KnownShare } from '../../store/shares.ts';
import type { AuthOptions, Principal } from './token.ts';

/**
 * The routes that a share link opens, all by GET; any other is refused. An `endpoint` route needs a link to the whole
 * endpoint that its path names. An `entry` route takes each link, for the entries that it covers.
 */
export const SHARED_ROUTES: Readonly<Record<string, 'endpoint' | 'entry' | 'itself'>> = {
  '/api/share': 'itself',
  '/api/endpoints/:id/requests': 'endpoint',
  '/api/endpoints/:id/requests/next': 'endpoint',
  '/api/endpoints/:id/events': 'endpoint',
  '/api/endpoints/:id/activity': 'endpoint',
  '/api/endpoints/:id/export': 'endpoint',
  '/api/requests/:id': 'entry',
  '/api/requests/:id/body': 'entry',
  '/api/requests/:id/export': 'entry',
};

/**
 * What a redacted link may ask for. Any text that is looked for in headers or query could guess what is hidden, letter
 * by letter; bodies are not hidden.
 */
const REDACTED_QUERY = new Set([
  'limit',
  'offset',
  'before',
  'after',
  'timeout',
  'raw',
  'format',
  'bodyBytes',
  'minutes',
]);
const REDACTED_FILTERS = new Set(['method', 'path', 'json', 'since', 'until']);

type ShareOptions = Pick<AuthOptions, 'shares' | 'plans'>;

/**
 * The owner of a link as far as the link goes, for one request.
 * @throws HttpError 401, 403, 404 for another endpoint or entry, 410 for a link that has ended
 */
export async function admitShare(ctx: Context, token: string, options: ShareOptions): Promise<Principal> {
  keepPrivate(ctx);
  const known = await findKnown(token, options);
  const route = sharedRoute(ctx);
  if (route === undefined) throw forbidden('A share link does not give access to this');
  const principal = principalOf(known, options);
  checkReach(route, known.share);
  if (known.share.redact) checkQuery(ctx);
  return principal;
}

/** For an answer that takes long. @throws HttpError 401, 403, 410 */
export async function verifyShare(token: string, options: ShareOptions): Promise<Principal> {
  return principalOf(await findKnown(token, options), options);
}

async function findKnown(token: string, { shares }: ShareOptions): Promise<KnownShare> {
  const known = await shares.find(token);
  if (known === undefined) throw unauthorized();
  return known;
}

function principalOf({ share, plan: planName }: KnownShare, { plans }: ShareOptions): Principal {
  const { userId, expiresAt } = share;
  if (expiresAt.getTime() <= Date.now()) throw httpError(410, 'The share link has expired or was withdrawn');
  const plan = plans.get(planName);
  if (plan === undefined) throw forbidden("The plan of the link's owner is not known here");
  return { userId, plan, expiresAt: expiresAt.getTime(), share };
}

interface SharedRoute {
  kind: (typeof SHARED_ROUTES)[string];
  id: string;
}

/** Undefined unless every handler that matches the request belongs to a shared route. */
function sharedRoute(ctx: Context): SharedRoute | undefined {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return undefined;
  const { matched = [] } = ctx as Context & { matched?: { path: string | RegExp; methods: string[] }[] };
  const handlers = matched.filter(({ methods }) => methods.includes(ctx.method)).map(({ path }) => String(path));
  const kinds = handlers.map((path) => (Object.hasOwn(SHARED_ROUTES, path) ? SHARED_ROUTES[path] : undefined));
  const [kind] = kinds;
  if (kind === undefined || kinds.includes(undefined)) return undefined;
  return { kind, id: ctx.path.split('/')[3]?.toLowerCase() ?? '' };
}

/** The store keeps to the link, too (`Reader`); here also what a route tells of an endpoint beside its entries. */
function checkReach({ kind, id }: SharedRoute, { endpointId, requestId }: Share): void {
  if (kind === 'endpoint') {
    if (requestId !== null) throw forbidden('This share link gives access to one entry only');
    if (id !== endpointId) throw notFound();
  }
  if (kind === 'entry' && requestId !== null && id !== requestId) throw notFound();
}

/** @throws HttpError 403 for a search that could reach what is hidden */
function checkQuery(ctx: Context): void {
  for (const [name, value] of Object.entries(ctx.query)) {
    if (REDACTED_QUERY.has(name)) continue;
    const reaches = name === 'path' && [value].flat().some((text) => text?.includes('='));
    if (!REDACTED_FILTERS.has(name) || reaches)
      throw forbidden('A share link that hides secrets takes no search in headers and query, and no unknown parameter');
  }
}

/** What a link opens is for its holder: not for caches, search engines, or the pages that are visited next. */
function keepPrivate(ctx: Context): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex' });
}
