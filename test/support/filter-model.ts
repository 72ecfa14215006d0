import * as fc from 'fast-check';
import type { DecodedCapture } from '../../src/domain/capture-batch.ts';
import { firstIdAt, timeOfId } from '../../src/domain/ids.ts';
import { isUtf8 } from 'node:buffer';

/*
 * Random entries and filters from one small vocabulary, so that they often meet, and a plain model of what a filter
 * finds, on the texts of its query.
 */
export const MODEL_START = Date.parse('2026-11-22T12:00:00.000Z');
const SPAN_MS = 8;

export interface ModelQuery {
  method?: string;
  path?: string;
  q?: string;
  header?: string[];
  json?: string[];
  since?: string;
  until?: string;
}

/** A text as Node's parser gives the bytes of its UTF-8. */
export const wire = (text: string): string => Buffer.from(text).toString('latin1');

const word = fc.constantFrom(
  'needle',
  'NEEDLE',
  'Nee',
  'dle',
  'é',
  'É',
  '日本',
  '"q"',
  '\\',
  'a/b',
  '%_%',
  '{1}',
  '@`',
);
const words = fc.array(word, { maxLength: 3 }).map((list) => list.join(''));
const path = fc.constantFrom('', '/', '/orders', '/orders/1', '/Orders', '//orders', '/é', '/a/b');
const name = fc.constantFrom('Host', 'X-Topic', 'x-topic', 'needle', 'x-"');
const key = fc.constantFrom('a', 'b', 'é', 'a"b', 'needle');
const scalar = fc.oneof(words, fc.constantFrom('1', '', 'true'), fc.constantFrom(1, 1.5, -0, 12e3, true, false, null));
const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.dictionary(key, scalar, { maxKeys: 2 }));

/** JSON whose strings have characters as they are, or all escaped. */
const json = fc
  .tuple(fc.dictionary(key, value, { maxKeys: 3 }), fc.boolean())
  .map(([object, escaped]) =>
    JSON.stringify(object).replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) => (escaped ? escapeAll(text) : text)),
  );

const body = fc.oneof(
  words.map((text) => Buffer.from(text)),
  words.map((text) => Buffer.from(`\xff\0${text}`, 'latin1')),
  json.map((text) => Buffer.from(text)),
  json.map((text) => Buffer.from(text.replaceAll('/', '\\/').replaceAll(/\b1\b/g, '1.0'))),
);

export const modelCapture = fc.record({
  ms: fc.integer({ min: 0, max: SPAN_MS - 1 }),
  method: fc.constantFrom('POST', 'PUT', 'GET'),
  path: fc.tuple(path, fc.constantFrom('', '?', '?a=needle', '?x=É')).map(([start, query]) => wire(start + query)),
  rawHeaders: fc.array(fc.tuple(name, words.map(wire)), { maxLength: 3 }).map((pairs) => pairs.flat()),
  body,
});

export type ModelCapture = typeof modelCapture extends fc.Arbitrary<infer T> ? T : never;

/** The fields of a capture; each of an endpoint needs another number. */
export function captureFields(capture: ModelCapture, key: string, number: number): Partial<DecodedCapture> {
  const id = firstIdAt(MODEL_START + capture.ms).slice(0, -4) + number.toString(16).padStart(4, '0');
  const { method, path: rest, rawHeaders, body: bytes } = capture;
  return { id, method, target: `/h/${key}${rest}`, rawHeaders, body: bytes, isUtf8: isUtf8(bytes) };
}

const instant = fc.integer({ min: 0, max: SPAN_MS }).map((ms) => new Date(MODEL_START + ms).toISOString());
const text = words.filter((chosen) => chosen.length >= 3);
const jsonPath = fc.constantFrom('$.a', '$.b', '$.é', '$.needle', '$.a[0]', '$.a[1]', '$.a.b', '$.b.needle');

export const modelQuery: fc.Arbitrary<ModelQuery> = fc.record(
  {
    method: fc.constantFrom('POST', 'PUT,GET', 'DELETE'),
    path: path.filter((chosen) => chosen !== ''),
    q: text,
    header: fc.array(
      fc.oneof(
        fc.constantFrom('host', 'X-TOPIC', 'needle'),
        text.map((chosen) => `x-topic:${chosen}`),
      ),
      {
        minLength: 1,
        maxLength: 2,
      },
    ),
    json: fc.array(
      fc.tuple(jsonPath, scalar).map(([where, wanted]) => `${where}=${String(wanted)}`),
      {
        minLength: 1,
        maxLength: 2,
      },
    ),
    since: instant,
    until: instant,
  },
  { requiredKeys: [] },
);

export function finds(query: ModelQuery, capture: DecodedCapture): boolean {
  const time = timeOfId(capture.id);
  const [, behind = ''] = /^\/h\/[^/?]*([^?]*)/.exec(capture.target) ?? [];
  return (
    (query.method === undefined || query.method.split(',').includes(capture.method)) &&
    (query.path === undefined || behind.startsWith(wire(query.path))) &&
    (query.q === undefined || has(allTexts(capture), wire(query.q))) &&
    (query.header ?? []).every((wanted) => hasHeader(capture.rawHeaders, wanted)) &&
    (query.json ?? []).every((wanted) => hasValue(capture, wanted)) &&
    (query.since === undefined || time >= Date.parse(query.since)) &&
    (query.until === undefined || time < Date.parse(query.until))
  );
}

function allTexts({ target, rawHeaders, body: bytes }: DecodedCapture): string[] {
  return [target, ...rawHeaders, bytes.toString('latin1')];
}

function has(texts: string[], wanted: string): boolean {
  return texts.some((one) => lower(one).includes(lower(wanted)));
}

function lower(ascii: string): string {
  return ascii.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function hasHeader(rawHeaders: string[], wanted: string): boolean {
  const [header = '', ...rest] = wanted.split(':');
  const values = rawHeaders.filter((_part, i) => i % 2 === 1 && lower(rawHeaders[i - 1] as string) === lower(header));
  return has(values, wire(rest.join(':').trimStart()));
}

function hasValue(capture: DecodedCapture, wanted: string): boolean {
  if (!capture.isUtf8) return false;
  const equals = wanted.indexOf('=');
  const steps = wanted.slice(1, equals).match(/[^.[\]]+/g) ?? [];
  let found: unknown;
  try {
    found = JSON.parse(capture.body.toString());
  } catch {
    return false;
  }
  for (const step of steps) {
    const isIndex = /^\d+$/.test(step);
    if (typeof found !== 'object' || found === null || Array.isArray(found) !== isIndex) return false;
    found = (found as Record<string, unknown>)[step];
  }
  const expected = wanted.slice(equals + 1);
  if (typeof found === 'string') return found === expected;
  return found === null || ['number', 'boolean'].includes(typeof found) ? JSON.stringify(found) === expected : false;
}

function escapeAll(quoted: string): string {
  const units = (JSON.parse(quoted) as string).split('');
  return `"${units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
}
