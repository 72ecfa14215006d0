import type { Plan } from '../plans.ts';
import { bytesToId, isUuid } from './ids.ts';

const HOUR_MS = 3_600_000;

export const ALIAS_MIN_LENGTH = 3;
export const ALIAS_MAX_LENGTH = 48;
export const ALIAS = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])$/;

/** Words that would read like a part of the service, or invite impersonating it. */
const RESERVED_ALIASES = new Set([
  'admin', 'api', 'app', 'assets', 'auth', 'dashboard', 'docs', 'health', 'healthz', 'help', 'hookbay', 'inspect',
  'inspector', 'internal', 'livez', 'login', 'logout', 'me', 'metrics', 'new', 'null', 'openapi', 'public', 'readyz',
  'root', 'settings', 'socket-io', 'static', 'status', 'support', 'system', 'undefined', 'webhook', 'webhooks', 'www',
]);

/** A row of `endpoints`. */
export interface EndpointRow {
  id: Buffer;
  user_id: Buffer;
  alias: string | null;
  is_permanent: number;
  expires_at: Date | null;
  request_count: number;
  stored_count: number;
  last_request_at: Date | null;
  created_at: Date;
  updated_at: Date;
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

export function presentEndpoint(row: EndpointRow): EndpointRecord {
  return {
    id: bytesToId(row.id),
    user_id: row.user_id.toString('utf8'),
    alias: row.alias,
    is_permanent: row.is_permanent,
    expires_at: row.expires_at?.toISOString() ?? null,
    request_count: row.request_count,
    last_request_at: row.last_request_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function presentCreated(row: EndpointRow, baseUrl: string): EndpointCreated {
  const id = bytesToId(row.id);
  return {
    id,
    url: `${baseUrl}/h/${id}`,
    ...(row.alias !== null && { aliasUrl: `${baseUrl}/h/${row.alias}` }),
    expiresAt: row.expires_at?.toISOString() ?? null,
    isPermanent: row.is_permanent === 1,
    createdAt: row.created_at.toISOString(),
  };
}

/** Why `alias` can't be used, to be read behind its name; undefined when it can. */
export function aliasProblem(alias: string): string | undefined {
  if (!hasAliasLength(alias)) return `must have ${ALIAS_MIN_LENGTH} to ${ALIAS_MAX_LENGTH} characters`;
  if (isUuid(alias)) return 'must not look like a UUID';
  if (!ALIAS.test(alias)) return 'may hold a-z, 0-9 and inner hyphens only';
  if (RESERVED_ALIASES.has(alias)) return `"${alias}" is reserved`;
  return undefined;
}

/** Whether a segment of `/h/<segment>` can be an alias at all; anything else needs no look-up. */
export function isAliasShaped(segment: string): boolean {
  return hasAliasLength(segment) && ALIAS.test(segment);
}

function hasAliasLength({ length }: string): boolean {
  return length >= ALIAS_MIN_LENGTH && length <= ALIAS_MAX_LENGTH;
}

/** Instant (Unix milliseconds) at which an endpoint created now ends; null for a permanent one. */
export function expiryOf(plan: Plan, permanent: boolean, now: number): number | null {
  return permanent ? null : now + plan.endpointTtlHours * HOUR_MS;
}
