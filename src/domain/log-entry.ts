import type { StoredRequest } from './captured-request.ts';
import { timeOfId } from './ids.ts';

/** The log entry of the specification, with the extra fields of this service. */
export interface LogEntry {
  id: string;
  endpoint_id: string;
  seq: number;
  method: string;
  path: string;
  headers: Record<string, string>;
  query: Record<string, string | string[]>;
  body: string;
  body_encoding: 'utf8' | 'base64';
  body_truncated?: true;
  content_type: string;
  ip: string;
  user_agent: string;
  size: number;
  created_at: string;
  /** With `raw`: the request-target and the headers as sent, a character for each byte. */
  target?: string;
  raw_headers?: [string, string][];
}

export function presentRequest(request: StoredRequest, raw = false): LogEntry {
  const { head, text, tail } = describe(request, raw);
  return { ...head, body: text.toString(tail.body_encoding), ...tail };
}

/** Bytes of a body that are converted at once; a multiple of three, so that Base64 has no padding between pieces. */
const PIECE_BYTES = 48 * 1024;

/** The JSON of a log entry, in pieces where its body is large: one text would block the event loop. */
export function* logEntryJson(request: StoredRequest, raw = false): Generator<string> {
  const { body } = request;
  if (body.length <= PIECE_BYTES) return yield JSON.stringify(presentRequest(request, raw));
  const { head, tail, text } = describe(request, raw);
  yield `${JSON.stringify(head).slice(0, -1)},"body":"`;
  for (let start = 0; start < text.length;) {
    const end = pieceEnd(text, start, tail.body_encoding);
    // Quoted for text; Base64 stays as it is.
    yield JSON.stringify(text.toString(tail.body_encoding, start, end)).slice(1, -1);
    start = end;
  }
  yield `",${JSON.stringify(tail).slice(1)}`;
}

/** The end of a piece, never within a character. */
function pieceEnd(text: Buffer, start: number, encoding: LogEntry['body_encoding']): number {
  let end = Math.min(start + PIECE_BYTES, text.length);
  while (encoding === 'utf8' && end < text.length && ((text[end] as number) & 0xc0) === 0x80) end -= 1;
  return end;
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
      ...(raw && { target, raw_headers: pairsOf(rawHeaders) }),
    },
  };
}

function pairsOf(rawHeaders: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) pairs.push([rawHeaders[i] as string, rawHeaders[i + 1] as string]);
  return pairs;
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
