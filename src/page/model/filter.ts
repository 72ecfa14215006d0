import { behindKey, type Entry } from './entry.ts';

/** What the list shows; all parts have to match. Named as in the API, which searches the whole endpoint by it. */
export interface Filter {
  /** A text in path, query, headers or body, in either case. */
  q: string;
  methods: readonly string[];
  /** A text in the content type. */
  type: string;
  /** Names of headers and texts in their values. */
  headers: readonly (readonly [name: string, text: string])[];
  /** How the path begins behind `/h/<key>`. */
  path: string;
  /** From this instant (ISO 8601, UTC, with milliseconds), and before that one; '' = without a bound. */
  since: string;
  until: string;
}

export const NO_FILTER: Filter = { q: '', methods: [], type: '', headers: [], path: '', since: '', until: '' };

/** The API refuses shorter texts, and more headers. */
export const MIN_SEARCH_BYTES = 3;
export const MAX_HEADERS = 4;

/** Longer texts are no use: the API takes as many bytes. */
export const MAX_TEXT = 200;
const MAX_PATH = 1_000;

const METHOD = /^[A-Z-]{1,32}$/;
const HEADER_NAME = /^[!#$%&'*+.^`|~\w-]{1,100}$/;

export function equals(one: Filter, other: Filter): boolean {
  return one === other || String(formatFilter(one)) === String(formatFilter(other));
}

export function isEmpty(filter: Filter): boolean {
  return formatFilter(filter).size === 0;
}

/** The filter with one more header; the API takes four, so the first one goes. */
export function addHeader(filter: Filter, name: string, text: string): Filter {
  const others = filter.headers.filter(([other, its]) => other.toLowerCase() !== name.toLowerCase() || its !== text);
  return { ...filter, headers: [...others, [name.toLowerCase(), text] as const].slice(-MAX_HEADERS) };
}

/** The filter as parameters of an address; the API understands all of them but `type`. */
export function formatFilter({ q, methods, type, headers, path, since, until }: Filter): URLSearchParams {
  const query = new URLSearchParams();
  if (q !== '') query.set('q', q);
  if (methods.length > 0) query.set('method', methods.join(','));
  if (type !== '') query.set('type', type);
  for (const [name, text] of headers) query.append('header', text === '' ? name : `${name}:${text}`);
  if (path !== '') query.set('path', path);
  if (since !== '') query.set('since', since);
  if (until !== '') query.set('until', until);
  return query;
}

export function parseFilter(query: URLSearchParams): Filter {
  const method = query.get('method') ?? '';
  const path = query.get('path') ?? '';
  return {
    q: (query.get('q') ?? '').slice(0, MAX_TEXT),
    methods: method
      .toUpperCase()
      .split(',')
      .filter((name) => METHOD.test(name)),
    type: (query.get('type') ?? '').slice(0, MAX_TEXT),
    headers: query
      .getAll('header')
      .map(parseHeader)
      .filter(([name]) => HEADER_NAME.test(name))
      .slice(0, MAX_HEADERS),
    path: path.startsWith('/') ? path.slice(0, MAX_PATH) : '',
    since: instantOf(query.get('since')),
    until: instantOf(query.get('until')),
  };
}

/** The parameters of a search in the whole endpoint. */
export function searchQuery(filter: Filter): URLSearchParams {
  const { type, headers } = filter;
  return formatFilter({ ...filter, type: '', headers: type === '' ? headers : [...headers, ['content-type', type]] });
}

/** Why the whole endpoint cannot be searched by a filter; undefined when it can. */
export function searchProblem({ q, type, headers }: Filter): string | undefined {
  if (q !== '' && new TextEncoder().encode(q).length < MIN_SEARCH_BYTES)
    return `The whole endpoint can be searched for ${MIN_SEARCH_BYTES} or more characters`;
  if (headers.length + (type === '' ? 0 : 1) > MAX_HEADERS)
    return `The whole endpoint can be searched for up to ${MAX_HEADERS} headers`;
  return undefined;
}

/** Whether an entry matches, as far as its body is loaded. */
export function matcher({ q, methods, type, headers, path, since, until }: Filter): (entry: Entry) => boolean {
  const hasText = q === '' ? undefined : containing(q);
  const hasType = containing(type);
  const paths = formsOf(path);
  const wanted = headers.map(([name, text]) => [name.toLowerCase(), containing(text)] as const);
  return (entry) => {
    if (methods.length > 0 && !methods.includes(entry.method)) return false;
    if (path !== '' && !paths.some((start) => behindKey(entry.path).startsWith(start))) return false;
    if ((since !== '' && entry.created_at < since) || (until !== '' && entry.created_at >= until)) return false;
    if (type !== '' && !hasType(entry.content_type)) return false;
    if (!wanted.every(([name, has]) => Object.hasOwn(entry.headers, name) && has(entry.headers[name] as string)))
      return false;
    return hasText === undefined || contains(entry, hasText);
  };
}

function contains({ path, query, headers, body, body_encoding }: Entry, has: (text: string) => boolean): boolean {
  if (has(path)) return true;
  for (const name in query) if ([query[name] ?? ''].flat().some((value) => has(`${name}=${value}`))) return true;
  for (const name in headers) if (has(name) || has(headers[name] as string)) return true;
  return has(body_encoding === 'utf8' ? body : atob(body));
}

/** A search that ignores case, without a copy of what it looks at. */
function containing(text: string): (where: string) => boolean {
  const pattern = new RegExp(
    formsOf(text)
      .map((form) => RegExp.escape(form))
      .join('|'),
    'i',
  );
  return (where) => pattern.test(where);
}

/** Paths, headers, and bodies that are no text, have a character for each byte. */
function formsOf(text: string): string[] {
  return [...new Set([text, String.fromCharCode(...new TextEncoder().encode(text))])];
}

function parseHeader(text: string): [string, string] {
  const colon = text.indexOf(':');
  if (colon === -1) return [text, ''];
  return [
    text.slice(0, colon),
    text
      .slice(colon + 1)
      .trimStart()
      .slice(0, MAX_TEXT),
  ];
}

function instantOf(text: string | null): string {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}
