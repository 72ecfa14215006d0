import { isJsonNumber, latin1, type Filter, type HeaderFilter, type JsonFilter } from '../domain/filter.ts';

/*
 * Conditions that every matching row meets, and few others: the exact check follows. Texts are compared as bytes, in a
 * collation that ignores ASCII case at little more than the price of bytes. JSON is searched as text, because the
 * engines' own functions differ in depth, repeated names and numbers.
 */
export interface Condition {
  sql: string;
  values: (Buffer | string[])[];
}

/** On what is stored beside the body, so no body is read. */
export function headCondition({ methods, path, headers }: Filter): Condition {
  return all([
    ...(methods === undefined ? [] : [{ sql: 'requests.method IN (?)', values: [methods] }]),
    ...(path === undefined ? [] : [has('CAST(requests.target AS BINARY)', inTarget(path))]),
    ...headers.flatMap(headerConditions),
  ]);
}

/** On the text that is looked for, and on the JSON of the body. */
export function contentCondition({ text, json }: Filter, withBody: boolean): Condition {
  return all([...(text === undefined ? [] : [textCondition(text, withBody)]), ...json.map(jsonCondition)]);
}

function textCondition(text: string, withBody: boolean): Condition {
  return any([
    has(ignoringCase('CAST(requests.target AS BINARY)'), inTarget(text)),
    has(ignoringCase('CAST(requests.raw_headers AS BINARY)'), inHeaders(text)),
    ...(withBody ? [has(ignoringCase('requests.body'), Buffer.from(text))] : []),
  ]);
}

function headerConditions({ name, text }: HeaderFilter): Condition[] {
  const headers = ignoringCase('CAST(requests.raw_headers AS BINARY)');
  return [Buffer.from(`"${name}",`), ...(text === '' ? [] : [inHeaders(text)])].map((bytes) => has(headers, bytes));
}

/** A string in JSON may have any character as `\u…`. */
function jsonCondition({ path, value }: JsonFilter): Condition {
  const names = path.filter((step) => typeof step === 'string');
  const texts = [...names, ...(isJsonNumber(value) ? [] : [value])].map(longestPlainPart).filter((text) => text !== '');
  const inBody = (text: string): Condition => has('requests.body', Buffer.from(text));
  return all([
    { sql: 'requests.is_utf8 = 1', values: [] },
    ...(texts.length === 0 ? [] : [any([all(texts.map(inBody)), inBody('\\u')])]),
  ]);
}

/** The longest part without characters that JSON may escape shortly. */
function longestPlainPart(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.split(/["\\/\u0000-\u001f]/).reduce((best, part) => (part.length > best.length ? part : best), '');
}

/** Targets and headers are stored as texts of a character for each byte, headers as JSON. */
function inTarget(text: string): Buffer {
  return Buffer.from(latin1(text));
}

function inHeaders(text: string): Buffer {
  return Buffer.from(JSON.stringify(latin1(text)).slice(1, -1));
}

function ignoringCase(bytes: string): string {
  return `CONVERT(${bytes} USING latin1) COLLATE latin1_general_ci`;
}

function has(column: string, bytes: Buffer): Condition {
  const wanted = column.includes('COLLATE') ? 'CONVERT(? USING latin1)' : '?';
  return { sql: `LOCATE(${wanted}, ${column}) > 0`, values: [bytes] };
}

function all(conditions: Condition[]): Condition {
  return joined(conditions, ' AND ', 'TRUE');
}

function any(conditions: Condition[]): Condition {
  return joined(conditions, ' OR ', 'FALSE');
}

function joined(conditions: Condition[], by: string, none: string): Condition {
  const sql = conditions.length === 0 ? none : `(${conditions.map((condition) => condition.sql).join(by)})`;
  return { sql, values: conditions.flatMap(({ values }) => values) };
}
