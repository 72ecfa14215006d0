import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isOfConnection } from './forwarded.ts';
import { describe, ListenError } from './text.ts';

export const USAGE = `usage: listen <port or url> --endpoint <id or url> [option …]

Forwards what an endpoint captures to a server on this machine, to the byte.

  --endpoint <id or url>    endpoint to follow; its id, or its URL or alias URL
  --url <url>               address of Hookbay (default: that of the endpoint's URL, HOOKBAY_URL, http://localhost:8080)
  --token <token>           token of the endpoint's owner (default: HOOKBAY_TOKEN, then ~/.config/hookbay/token)
  --after now|0|<seq>       where to begin: with what comes from now on (default), with all, or behind a seq
  --keep-path               forward the whole path, /h/… included
  --header 'Name: value'    set a header of the forwarded requests; can be repeated
  --method POST,PUT         forward these methods only
  --path /orders            forward only what begins so behind /h/<id>
  --q <text>                forward only what has this text in its target, headers or body
  --header-filter <filter>  name or name:text; can be repeated
  --json-filter <filter>    $.path[0]=value; can be repeated
  --concurrency <number>    requests at the same time (default 10); 1 keeps their order
  --timeout <seconds>       time for an answer of the server (default 30)
  --json                    print a JSON object a line
  --once <number>           end after so many requests
  --help`;

const DEFAULT_URL = 'http://localhost:8080';
const MAX_TOKEN_BYTES = 16 * 1024;

export interface Options {
  /** The local server, with the path that paths are added to. */
  target: URL;
  /** Address of Hookbay, ending with a slash. */
  api: URL;
  /** Id or alias of the endpoint. */
  endpoint: string;
  /** Read again for each connection: a file may have got a new token. */
  token: () => string;
  after: 'now' | number;
  keepPath: boolean;
  /** Names and values in turn. */
  headers: string[];
  filter: URLSearchParams;
  concurrency: number;
  timeoutMs: number;
  json: boolean;
  /** Number of deliveries to end after. */
  once: number;
}

/** @throws ListenError that names the wrong argument; undefined when help is asked for */
export function readOptions(args: string[], env: NodeJS.ProcessEnv): Options | undefined {
  const { values, positionals } = parse(args);
  if (values.help) return undefined;
  const [target, ...more] = positionals;
  if (target === undefined || more.length > 0) throw new ListenError(`Name one port or URL.\n${USAGE}`);
  if (!values.endpoint) throw new ListenError(`--endpoint must be an id or a URL.\n${USAGE}`);
  const place = endpointAt(values.endpoint);
  const api = httpUrl('--url', values.url ?? place.api ?? (env['HOOKBAY_URL'] || DEFAULT_URL));
  if (!api.pathname.endsWith('/')) api.pathname += '/';
  return {
    target: httpUrl('The address', /^\d{1,5}$/.test(target) ? `http://localhost:${target}` : target),
    api,
    endpoint: place.key,
    token: () => findToken(values.token, env),
    after: values.after === 'now' ? 'now' : wholeNumber('--after', values.after, 0, Number.MAX_SAFE_INTEGER),
    keepPath: values['keep-path'],
    headers: (values.header ?? []).flatMap(headerOf),
    filter: filterOf(values),
    concurrency: wholeNumber('--concurrency', values.concurrency, 1, 100),
    timeoutMs: 1_000 * wholeNumber('--timeout', values.timeout, 1, 3_600),
    json: values.json,
    once: values.once === undefined ? Infinity : wholeNumber('--once', values.once, 1, 1_000_000_000),
  };
}

function parse(args: string[]) {
  const [text, texts, flag] = [
    { type: 'string' },
    { type: 'string', multiple: true },
    { type: 'boolean', default: false },
  ] as const;
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        endpoint: text,
        url: text,
        token: text,
        after: { type: 'string', default: 'now' },
        'keep-path': flag,
        header: texts,
        method: text,
        path: text,
        q: text,
        'header-filter': texts,
        'json-filter': texts,
        concurrency: { type: 'string', default: '10' },
        timeout: { type: 'string', default: '30' },
        json: flag,
        once: text,
        help: flag,
      },
    });
  } catch (error) {
    throw new ListenError(`${describe(error)}\n${USAGE}`);
  }
}

/** The API's filter; it checks the values. */
function filterOf(values: ReturnType<typeof parse>['values']): URLSearchParams {
  const filter = new URLSearchParams();
  for (const name of ['method', 'path', 'q'] as const) {
    if (values[name] !== undefined) filter.set(name, values[name]);
  }
  for (const name of ['header', 'json'] as const) {
    for (const value of values[`${name}-filter`] ?? []) filter.append(name, value);
  }
  return filter;
}

/** The key in an endpoint's URL, and the address before its `/h/`. */
function endpointAt(value: string): { key: string; api?: string } {
  if (!value.includes('/')) return { key: value };
  const [, api, key] = /^(https?:\/\/.*?)\/h\/([^/?#]+)/i.exec(value) ?? [];
  if (api === undefined || key === undefined) throw new ListenError('--endpoint must be an id or a URL with /h/ in it');
  return { key, api };
}

function httpUrl(name: string, value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new ListenError(`${name} must be a port or a URL`);
  if (url.username || url.password || url.search || url.hash)
    throw new ListenError(`${name} must have no user, password, query or fragment`);
  return url;
}

function headerOf(line: string): string[] {
  const [, name, value] = /^([!#$%&'*+\-.^_`|~\w]+):[ \t]*([\t\u0020-\u007e\u0080-\u00ff]*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new ListenError("--header must be like 'Name: value'");
  if (isOfConnection(name.toLowerCase())) throw new ListenError(`--header: ${name} is set as the request needs it`);
  return [name, value];
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (number >= least && number <= most) return number;
  throw new ListenError(`${name} must be a whole number from ${least} to ${most}`);
}

/** @throws ListenError when there is none, or when the file is not safe */
function findToken(option: string | undefined, env: NodeJS.ProcessEnv): string {
  const file = join(homedir(), '.config', 'hookbay', 'token');
  const token = (option ?? (env['HOOKBAY_TOKEN'] || tokenIn(file))).trim();
  // A wrong character would make `fetch` quote the token in its error.
  if (/^[\w.~+/=-]+$/.test(token)) return token;
  throw new ListenError(`There is no token: use --token, HOOKBAY_TOKEN or ${file}`);
}

function tokenIn(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return '';
  // Windows has no such permissions, and reports all of them.
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0)
    throw new ListenError(`Others may read ${file}: run chmod 600 on it`);
  if (!found.isFile() || found.size > MAX_TOKEN_BYTES) throw new ListenError(`${file} holds no token`);
  return readFileSync(file, 'utf8');
}
