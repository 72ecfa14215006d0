import type { LogEntry } from '../../domain/answers.ts';
import { base64, latin1Bytes, type Bytes } from './bytes.ts';
import { headerOf } from './message.ts';

/** As the API answers a check. */
export interface Verdict {
  valid: boolean;
  /** In the form of the header; empty when it cannot be computed. */
  expected: string;
  actual: string;
  details?: string;
}

const SECRET_PREFIX = 'whsec_';

/** Senders name several while a secret is rolled. */
const MAX_SIGNATURES = 16;

const NO_MATCH =
  'The signature does not match: either the secret is wrong, or the payload is not the raw body that was signed.';

/**
 * Checks the signature of Standard Webhooks: HMAC-SHA256 over `<id>.<timestamp>.<raw body>`
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */
export async function checkStandardWebhook(
  entry: Pick<LogEntry, 'headers'>,
  body: Uint8Array,
  secret: string,
): Promise<Verdict> {
  const value = (name: string): string => headerOf(entry, `webhook-${name}`) || headerOf(entry, `svix-${name}`);
  const [id, timestamp, actual] = [value('id'), value('timestamp'), value('signature')];
  const missing = Object.entries({ id, timestamp, signature: actual }).find(([, text]) => text === '');
  if (missing !== undefined) return refuse(actual, `The entry has no header webhook-${missing[0]}.`);
  const key = keyOf(secret);
  if (key === undefined)
    return refuse(actual, `The secret is not Base64, with or without "${SECRET_PREFIX}" before it.`);
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const hmac = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  const expected = `v1,${base64(new Uint8Array(await crypto.subtle.sign('HMAC', hmac, signed)))}`;
  const candidates = signaturesOf(actual);
  if (candidates.length === 0)
    return { ...refuse(actual, 'The header has no "v1," signature; others are not checked.'), expected };
  const matches = await Promise.all(candidates.map((bytes) => crypto.subtle.verify('HMAC', hmac, bytes, signed)));
  const valid = matches.includes(true);
  return { valid, expected, actual, ...(!valid && { details: NO_MATCH }) };
}

function refuse(actual: string, details: string): Verdict {
  return { valid: false, expected: '', actual, details };
}

function keyOf(secret: string): Bytes | undefined {
  const text = secret.trim();
  const key = decodeBase64(text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : text);
  return key === undefined || key.length === 0 ? undefined : key;
}

function signaturesOf(header: string): Bytes[] {
  return header
    .split(' ', MAX_SIGNATURES)
    .filter((part) => part.startsWith('v1,'))
    .map((part) => decodeBase64(part.slice('v1,'.length)))
    .filter((bytes) => bytes !== undefined);
}

function decodeBase64(text: string): Bytes | undefined {
  try {
    return latin1Bytes(atob(text));
  } catch {
    return undefined;
  }
}

function concat(a: Uint8Array, b: Uint8Array): Bytes {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
