import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { CustomResponseRecord } from './answers.ts';

/** Which custom responses an installation sends; with `safe` no redirects. */
export type CustomResponses = 'off' | 'safe' | 'redirects';

/** What clients see of it, and what MySQL and Redis keep (there the body is Base64 in any case), with its bytes. */
export interface CustomResponse extends Omit<CustomResponseRecord, 'body'> {
  body: Buffer;
}

export function presentResponse(response: CustomResponse): CustomResponseRecord {
  return { ...response, body: response.body.toString(response.bodyEncoding) };
}

export function encodeResponse(response: CustomResponse): CustomResponseRecord {
  return { ...response, body: response.body.toString('base64') };
}

export function decodeResponse(record: CustomResponseRecord): CustomResponse {
  // A name may be refused since it was stored.
  const headers = Object.fromEntries(Object.entries(record.headers).filter(([name]) => !isRefusedHeader(name)));
  return { ...record, headers, body: Buffer.from(record.body, 'base64') };
}

/** Whether an installation sends this response: its settings may have changed since it was stored. */
export function isSent({ status }: CustomResponse, mode: CustomResponses): boolean {
  return mode === 'redirects' || (mode === 'safe' && !isRedirect(status));
}

export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

/** No body may follow these (RFC 9110, sections 6.4.1 and 15.3.6). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/**
 * Headers that belong to the server, and those by which a browser changes something of the whole origin (cookies,
 * storage, workers, reports, sessions) or asks its user for a password, in spite of the sandbox.
 */
const REFUSED = new Set([
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'connection',
  'content-length',
  'critical-ch',
  'date',
  'host',
  'keep-alive',
  'nel',
  'observe-browsing-topics',
  'origin-agent-cluster',
  'referrer-policy',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'shared-storage-write',
  'speculation-rules',
  'strict-transport-security',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'use-as-dictionary',
  'www-authenticate',
  'x-content-type-options',
]);
const REFUSED_PREFIXES = [
  'activate-storage-',
  'attribution-reporting-',
  'content-security-policy',
  'cross-origin-opener-policy',
  'proxy-',
  'sec-',
  'secure-session-',
  'set-',
  'x-hookbay-',
];

export function isRefusedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return REFUSED.has(lower) || REFUSED_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

export function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** The type of a body without one. Never HTML, which a browser would show as a page of this origin. */
export function defaultContentType(body: Buffer): string {
  try {
    JSON.parse(body.toString('utf8'));
    return 'application/json';
  } catch {
    return 'text/plain; charset=utf-8';
  }
}
