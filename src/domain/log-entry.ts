import type { LogEntry } from './answers.ts';
import { bodyPieces, PIECE_BYTES } from './body-pieces.ts';
import type { StoredRequest } from './captured-request.ts';
import { headerPairs } from './header-lines.ts';
import { timeOfId } from './ids.ts';

export function presentRequest(request: StoredRequest, raw = false): LogEntry {
  const { head, text, tail } = describe(request, raw);
  return { ...head, body: text.toString(tail.body_encoding), ...tail };
}

/** The JSON of a log entry, in pieces where its body is large: one text would block the event loop. */
export function* logEntryJson(request: StoredRequest, raw = false): Generator<string> {
  const { body } = request;
  if (body.length <= PIECE_BYTES) return yield JSON.stringify(presentRequest(request, raw));
  const { head, tail, text } = describe(request, raw);
  yield `${JSON.stringify(head).slice(0, -1)},"body":"`;
  // Escapes text; Base64 has nothing to escape.
  for (const piece of bodyPieces(text, tail.body_encoding)) yield JSON.stringify(piece).slice(1, -1);
  yield `",${JSON.stringify(tail).slice(1)}`;
}

/** The parts of a log entry before and after its body; `text` are the body's bytes, in the encoding in `tail`. */
function describe(request: StoredRequest, raw: boolean) {
  const { id, endpointId, seq, method, target, rawHeaders, ip, size, isUtf8, body } = request;
  const headers = headersFrom(rawHeaders);
  const { path, query } = splitTarget(target);
  const truncated = body.length < size;
  const encoding: LogEntry['body_encoding'] = isUtf8 ? 'utf8' : 'base64';
  return {
    head: { id, endpoint_id: endpointId, seq, method, path, headers, query: queryFrom(query) },
    text: isUtf8 && truncated ? wholeCharacters(body) : body,
    tail: {
      body_encoding: encoding,
      ...(truncated && { body_truncated: true as const }),
      content_type: ownValue(headers, 'content-type'),
      ip,
      user_agent: ownValue(headers, 'user-agent'),
      size,
      created_at: new Date(timeOfId(id)).toISOString(),
      ...(raw && { target, raw_headers: headerPairs(rawHeaders) }),
    },
  };
}

/**
 * Lower-case names to values; a repeated header is joined with `, ` (RFC 9110, section 5.3), `cookie` with `; ` (RFC
 * 9113, section 8.2.3). Any name is safe, including `__proto__`.
 */
export function headersFrom(rawHeaders: readonly string[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : before + (name === 'cookie' ? '; ' : ', ') + value);
  }
  return plainObject(headers);
}

/** Name to value, a repeated name to the array of its values; `query` is the part after `?`. */
export function queryFrom(query: string): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodeQueryPart(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : decodeQueryPart(pair.slice(equals + 1));
    const before = values.get(name);
    if (before === undefined) values.set(name, value);
    else if (Array.isArray(before)) before.push(value);
    else values.set(name, [before, value]);
  }
  return plainObject(values);
}

export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf('?');
  return mark === -1 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** Form decoding (`+` is a space); invalid percent-encoded UTF-8 stays as sent. */
function decodeQueryPart(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '));
  } catch {
    return part;
  }
}

/** `Object.fromEntries` defines its keys, so `__proto__` becomes an ordinary own property. */
function plainObject<V>(entries: Map<string, V>): Record<string, V> {
  return Object.fromEntries(entries);
}

function ownValue(headers: Record<string, string>, name: string): string {
  return Object.hasOwn(headers, name) ? (headers[name] as string) : '';
}

/** Removes a UTF-8 character at the end that was cut. */
function wholeCharacters(bytes: Buffer): Buffer {
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < 4 && ((bytes[start] as number) & 0xc0) === 0x80) start -= 1;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? bytes.subarray(0, start) : bytes;
}
