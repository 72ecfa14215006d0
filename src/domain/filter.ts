import type { StoredRequest } from './captured-request.ts';
import { timeOfId } from './ids.ts';
import { splitTarget } from './log-entry.ts';

/** Which entries of an endpoint are wanted; all parts have to match. */
export interface Filter {
  /** Upper-case. */
  methods?: string[] | undefined;
  /** The start of the path behind `/h/<key>`, as sent. */
  path?: string | undefined;
  /** Text in the target, in the name or value of a header, or in the body; ASCII case is ignored. */
  text?: string | undefined;
  /** A header of this name whose value has the text; an empty text is in any value. */
  headers: HeaderFilter[];
  json: JsonFilter[];
  /** Unix milliseconds: from `since`, before `until`. */
  since?: number | undefined;
  until?: number | undefined;
}

export interface HeaderFilter {
  name: string;
  text: string;
}

/** A value in a JSON body; an array's element is a number in the path. */
export interface JsonFilter {
  path: (string | number)[];
  value: string;
}

/** In longer bodies no text is looked for, only in their target and headers. */
export const TEXT_MAX_BODY_BYTES = 1024 * 1024;

/** Longer bodies are not parsed, because parsing can't give way to other work. */
export const JSON_MAX_BODY_BYTES = 128 * 1024;

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Whether method and time decide alone. */
export function isTrivial({ path, text, headers, json }: Filter): boolean {
  return path === undefined && text === undefined && headers.length + json.length === 0;
}

/** Whether the body of an entry of this size is too long for the filter, which needs it. */
export function skipsBody({ text, json }: Filter, size: number): boolean {
  return (text !== undefined && size > TEXT_MAX_BODY_BYTES) || (json.length > 0 && size > JSON_MAX_BODY_BYTES);
}

/** The exact check. A body that is not whole counts as too long. */
export function matches(filter: Filter, request: StoredRequest): boolean {
  const { methods, path, text, headers, json, since = -Infinity, until = Infinity } = filter;
  const time = timeOfId(request.id);
  return (
    (methods === undefined || methods.includes(request.method)) &&
    time >= since &&
    time < until &&
    (path === undefined || pathBehindKey(request.target).startsWith(latin1(path))) &&
    headers.every((header) => hasHeader(request.rawHeaders, header)) &&
    (text === undefined || hasText(request, text)) &&
    (json.length === 0 || hasValues(request, json))
  );
}

/** The bytes of a text as Node's parser decodes them in targets and headers: a character each. */
export function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Whether a text is a JSON number: it is compared by its value, so `1.0` in a body equals `1`. */
export function isJsonNumber(text: string): boolean {
  return JSON_NUMBER.test(text);
}

function pathBehindKey(target: string): string {
  return splitTarget(target).path.replace(/^\/h\/[^/]*/, '');
}

function hasHeader(rawHeaders: readonly string[], { name, text }: HeaderFilter): boolean {
  const wanted = name.toLowerCase();
  return rawHeaders.some(
    (part, i) => i % 2 === 0 && part.toLowerCase() === wanted && contains(bytesOf(rawHeaders[i + 1] ?? ''), text),
  );
}

function hasText({ target, rawHeaders, body, size }: StoredRequest, text: string): boolean {
  return (
    contains(bytesOf(target), text) ||
    rawHeaders.some((part) => contains(bytesOf(part), text)) ||
    (size <= TEXT_MAX_BODY_BYTES && body.length === size && contains(body, text))
  );
}

function bytesOf(latin1Text: string): Buffer {
  return Buffer.from(latin1Text, 'latin1');
}

function contains(bytes: Buffer, text: string): boolean {
  return foldCase(bytes).includes(foldCase(Buffer.from(text, 'utf8')));
}

/** A copy with ASCII letters in lower case; `toLowerCase` would change other letters, too. */
function foldCase(bytes: Buffer): Buffer {
  const folded = Buffer.allocUnsafe(bytes.length);
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] as number;
    folded[i] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
  }
  return folded;
}

function hasValues({ body, size, isUtf8 }: StoredRequest, wanted: JsonFilter[]): boolean {
  if (!isUtf8 || size > JSON_MAX_BODY_BYTES || body.length < size) return false;
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    return false;
  }
  return wanted.every(({ path, value }) => equals(valueAt(json, path), value));
}

function valueAt(json: unknown, path: JsonFilter['path']): unknown {
  let value = json;
  for (const step of path) {
    const steps = typeof step === 'number' ? Array.isArray(value) : value instanceof Object && !Array.isArray(value);
    if (!steps || !Object.hasOwn(value as object, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** A string equals its text; a number its value; `true`, `false` and `null` their words; nothing else does. */
function equals(found: unknown, wanted: string): boolean {
  if (typeof found === 'number') return isJsonNumber(wanted) && Number(wanted) === found;
  if (typeof found === 'boolean' || found === null) return String(found) === wanted;
  return found === wanted;
}
