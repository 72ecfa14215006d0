import type { StoredRequest } from './captured-request.ts';

const HIDDEN = '***';

/** Names of headers and query parameters whose values are secrets: these, and all that contain one of the parts. */
const SECRET_NAMES = new Set(['auth', 'xauth', 'key', 'sig', 'sid', 'session', 'sessionid', 'otp', 'pass', 'pwd']);
const SECRET_PARTS = [
  'authorization',
  'cookie',
  'credential',
  'hmac',
  'jwt',
  'passwd',
  'password',
  'secret',
  'signature',
  'token',
  'accesskey',
  'apikey',
  'authkey',
  'functionskey',
  'subscriptionkey',
];

const SENDER =
  /forwarded(-for)?$|(^|-)ip(v[46])?$|(client|socket|user|peer)-?ip$|(client|remote|peer|viewer|external)-?addr(ess)?$/;

/**
 * An entry without the secrets that its headers and query carry by their names, and without the sender's address. The
 * body stays as it is.
 */
export function redacted(request: StoredRequest): StoredRequest {
  return {
    ...request,
    target: withoutSecrets(request.target),
    rawHeaders: request.rawHeaders.map((text, i, all) =>
      i % 2 === 0 ? text : headerValue(all[i - 1] as string, text),
    ),
    ip: '',
  };
}

function headerValue(name: string, value: string): string {
  const plain = name.toLowerCase().replaceAll('_', '-');
  return isSecret(plain) || SENDER.test(plain) ? HIDDEN : withoutSecrets(value);
}

/**
 * Hides the values of secret parameters in a request-target, or in a header that quotes one (`Referer`). A name also
 * begins after `;`, `?` and `#`, where some servers see one; its value ends with the parameter, at `&`.
 */
function withoutSecrets(text: string): string {
  return text.includes('=') ? text.split('&').map(withoutSecret).join('&') : text;
}

function withoutSecret(parameter: string): string {
  for (const { 1: name = '', index, 0: match } of parameter.matchAll(/(?:^|[?;#])([^=?;#]*)=/g)) {
    if (isSecret(percentDecoded(name))) return parameter.slice(0, index + match.length) + HIDDEN;
  }
  return parameter;
}

/** Separators do not count: `X-Api-Key` is `apikey`. */
function isSecret(name: string): boolean {
  const letters = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return SECRET_NAMES.has(letters) || SECRET_PARTS.some((part) => letters.includes(part));
}

/** Byte for byte, so that other parts of a name cannot make the decoding fail. */
function percentDecoded(name: string): string {
  return name.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
