import { z } from 'zod';
import type { Filter, HeaderFilter, JsonFilter } from '../../domain/filter.ts';

/** How often `header` and `json` may be given. */
const MAX_TIMES = 4;

const MIN_TEXT_BYTES = 3;
const MAX_TEXT_BYTES = 200;
const MAX_PATH_BYTES = 1_000;

const METHODS = /^[a-z-]{1,32}(?:,[a-z-]{1,32}){0,19}$/i;

/** The characters of a header's name (RFC 9110, section 5.6.2). */
const HEADER = /^([!#$%&'*+.^`|~\w-]{1,100})(?::[ \t]*(.*))?$/s;
const JSON_VALUE = /^\$((?:\.[^.[\]="\s]{1,100}|\[\d{1,6}\]){1,10})=(.*)$/s;
const JSON_STEP = /\.([^.[]+)|\[(\d+)\]/g;

/** A parameter that may be repeated, each time in the form that `fits`. */
function repeated(fits: (text: string) => boolean, problem: string) {
  const message = `must be ${problem}, at most ${MAX_TIMES} times`;
  const one = z.string().refine(fits, message);
  return z.union([one, z.array(one).max(MAX_TIMES, message)], message).optional();
}

function once(fits: (text: string) => boolean, problem: string) {
  return z.string(`must be ${problem}, once`).refine(fits, `must be ${problem}`).optional();
}

const instant = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], 'must be like 2026-11-22T10:00:00Z or 2026-11-22, in UTC')
  .optional();

/** The filter of routes that read entries, as fields of their query; `filterOf` reads it. */
export const filterQuery = {
  method: once((text) => METHODS.test(text), 'methods like POST,PUT').meta({
    description: 'Any of these methods',
    example: 'POST,PUT',
  }),
  path: once(
    (text) => text.startsWith('/') && Buffer.byteLength(text) <= MAX_PATH_BYTES,
    `the start of a path, like /orders, of at most ${MAX_PATH_BYTES} bytes`,
  ).meta({ description: 'The start of the path behind /h/<key>, as sent', example: '/orders' }),
  q: once((text) => inBytes(text, MIN_TEXT_BYTES), `a text of ${MIN_TEXT_BYTES} to ${MAX_TEXT_BYTES} bytes`).meta({
    description: 'Text in the target, in the name or value of a header, or in the body; ASCII case is ignored',
  }),
  header: repeated((text) => readHeader(text) !== undefined, 'a name or name:text').meta({
    description: 'A header of this name, and a text in its value; ASCII case is ignored',
  }),
  json: repeated((text) => readJson(text) !== undefined, 'like $.a.b[0]=value').meta({
    description: 'A value in a JSON body: the text of a string, a number, true, false or null',
  }),
  since: instant.meta({ description: 'From this instant' }),
  until: instant.meta({ description: 'Before this instant' }),
};

export type FilterQuery = z.output<z.ZodObject<typeof filterQuery>>;

/** The filter of a query that is valid. */
export function filterOf({ method, path, q, header = [], json = [], since, until }: FilterQuery): Filter {
  return {
    methods: method?.toUpperCase().split(','),
    path,
    text: q,
    headers: [header].flat().flatMap((text) => readHeader(text) ?? []),
    json: [json].flat().flatMap((text) => readJson(text) ?? []),
    since: since === undefined ? undefined : Date.parse(since),
    until: until === undefined ? undefined : Date.parse(until),
  };
}

function inBytes(text: string, min: number): boolean {
  const bytes = Buffer.byteLength(text);
  return bytes >= min && bytes <= MAX_TEXT_BYTES;
}

function readHeader(text: string): HeaderFilter | undefined {
  const [, name, value] = HEADER.exec(text) ?? [];
  if (name === undefined || !inBytes(value ?? '', value === undefined ? 0 : 1)) return undefined;
  return { name, text: value ?? '' };
}

function readJson(text: string): JsonFilter | undefined {
  const [, steps = '', value = ''] = JSON_VALUE.exec(text) ?? [];
  if (steps === '' || !inBytes(value, 0)) return undefined;
  const path = [...steps.matchAll(JSON_STEP)].map(([, name, index]) => name ?? Number(index));
  return { path, value };
}
