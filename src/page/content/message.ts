import type { LogEntry } from '../../domain/answers.ts';

/** The request-target, a character for each byte; an entry of a list has none as sent. */
export function targetOf({ target, path, query }: LogEntry): string {
  if (target !== undefined) return target;
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    [values].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

/** The headers in order, a character for each byte; an entry of a list has lower-case names, each once. */
export function headersOf({ raw_headers, headers }: LogEntry): [name: string, value: string][] {
  return raw_headers ?? Object.entries(headers);
}

/** The value of a header by its lower-case name, or an empty text. */
export function headerOf({ headers }: Pick<LogEntry, 'headers'>, name: string): string {
  return Object.hasOwn(headers, name) ? (headers[name] ?? '') : '';
}
