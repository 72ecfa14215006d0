import { isUuid } from './ids.ts';

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
