import type { Plan } from '../plans.ts';
import { isUuid } from './ids.ts';
import { HOUR_MS } from './time.ts';

export const ALIAS_MIN_LENGTH = 3;
export const ALIAS_MAX_LENGTH = 48;
export const ALIAS = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])$/;

/** Words that look like a part of the service, or help to impersonate it. */
const RESERVED_ALIASES = new Set([
  'admin',
  'api',
  'app',
  'assets',
  'auth',
  'dashboard',
  'docs',
  'health',
  'healthz',
  'help',
  'hookbay',
  'inspect',
  'inspector',
  'internal',
  'livez',
  'login',
  'logout',
  'me',
  'metrics',
  'new',
  'null',
  'openapi',
  'public',
  'readyz',
  'root',
  'settings',
  'socket-io',
  'static',
  'status',
  'support',
  'system',
  'undefined',
  'webhook',
  'webhooks',
  'www',
]);

export interface Endpoint {
  id: string;
  userId: string;
  alias: string | null;
  isPermanent: boolean;
  expiresAt: Date | null;
  /** Captures ever received, and entries that are still stored. */
  requestCount: number;
  storedCount: number;
  lastRequestAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** The endpoint record of the specification. */
export interface EndpointRecord {
  id: string;
  user_id: string;
  alias: string | null;
  is_permanent: number;
  expires_at: string | null;
  request_count: number;
  last_request_at: string | null;
  created_at: string;
  updated_at: string;
}

/** The endpoint creation result of the specification; `aliasUrl` only where there is an alias. */
export interface EndpointCreated {
  id: string;
  url: string;
  aliasUrl?: string;
  expiresAt: string | null;
  isPermanent: boolean;
  createdAt: string;
}

export function presentEndpoint(endpoint: Endpoint): EndpointRecord {
  return {
    id: endpoint.id,
    user_id: endpoint.userId,
    alias: endpoint.alias,
    is_permanent: endpoint.isPermanent ? 1 : 0,
    expires_at: endpoint.expiresAt?.toISOString() ?? null,
    request_count: endpoint.requestCount,
    last_request_at: endpoint.lastRequestAt?.toISOString() ?? null,
    created_at: endpoint.createdAt.toISOString(),
    updated_at: endpoint.updatedAt.toISOString(),
  };
}

export function presentCreated(
  { id, alias, expiresAt, isPermanent, createdAt }: Endpoint,
  baseUrl: string,
): EndpointCreated {
  return {
    id,
    url: `${baseUrl}/h/${id}`,
    ...(alias !== null && { aliasUrl: `${baseUrl}/h/${alias}` }),
    expiresAt: expiresAt?.toISOString() ?? null,
    isPermanent,
    createdAt: createdAt.toISOString(),
  };
}

/** Why `alias` is invalid, as the end of a sentence that starts with its name; undefined when it is valid. */
export function aliasProblem(alias: string): string | undefined {
  if (!hasAliasLength(alias)) return `must have ${ALIAS_MIN_LENGTH} to ${ALIAS_MAX_LENGTH} characters`;
  if (isUuid(alias)) return 'must not look like a UUID';
  if (!ALIAS.test(alias)) return 'may hold a-z, 0-9 and inner hyphens only';
  if (RESERVED_ALIASES.has(alias)) return `"${alias}" is reserved`;
  return undefined;
}

/** Whether a segment of `/h/<segment>` can be an alias; other texts need no look-up. */
export function isAliasShaped(segment: string): boolean {
  return hasAliasLength(segment) && ALIAS.test(segment);
}

function hasAliasLength({ length }: string): boolean {
  return length >= ALIAS_MIN_LENGTH && length <= ALIAS_MAX_LENGTH;
}

/** When an endpoint that is created now expires (Unix milliseconds); null for a permanent one. */
export function expiryOf(plan: Plan, permanent: boolean, now: number): number | null {
  return permanent ? null : now + plan.endpointTtlHours * HOUR_MS;
}
