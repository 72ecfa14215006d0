import type { LogEntry } from '../../domain/answers.ts';
import { bashWord } from './bash.ts';
import { bodyBytes, latin1Text } from './bytes.ts';
import { headersOf, targetOf } from './message.ts';

export interface CurlOptions {
  /** Where the target is appended, like `https://hooks.example.com`. */
  baseUrl: string;
  /** The origin of the API, from which a long or binary body is read. */
  apiUrl: string;
}

/** Linux limits an argument to 128 KiB. */
const MAX_ARGUMENT_CHARACTERS = 100_000;

/** Any other target goes past curl's URL parser, which drops a fragment and rewrites bytes. */
const PLAIN_TARGET = /^\/[A-Za-z0-9\-._~!$&'()*+,;=:@/?%]*$/;

/** Headers of one connection (RFC 9110, section 7.6.1), and those that curl or a proxy writes. */
const OF_CONNECTION = /^(?:host|content-length|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;
const OF_PROXY = /^(?:forwarded|via|x-real-ip|x-forwarded-.*)$/i;

/** What curl sends on its own. */
const OWN_HEADERS = ['User-Agent', 'Accept'];
const OWN_BODY_HEADERS = ['Content-Type', 'Expect'];

/**
 * A command for bash that sends the request again: method, target, headers and body as they were. Nothing in it is
 * read by the shell, by curl or by the terminal as anything but data.
 */
export function curlCommand(entry: LogEntry, { baseUrl, apiUrl }: CurlOptions): string {
  const headers = headersOf(entry);
  const base = baseUrl.replace(/\/$/, '');
  const hasBody = entry.size > 0 || headers.some(([name]) => /^(?:content-length|transfer-encoding)$/i.test(name));
  const body = hasBody ? bodyWord(entry) : undefined;
  const lines = [
    `curl -gsS --path-as-is ${methodWords(entry.method, hasBody)} ${urlWords(targetOf(entry), base)}`,
    ...headerValues(headers, hasBody).map((header) => `-H ${bashWord(header)}`),
  ];
  // Not `--data-binary` for a word: it reads a file where the text begins with `@`.
  if (hasBody) lines.push(body === undefined ? '--data-binary @-' : `--data-raw ${body}`);
  const command = lines.join(' \\\n  ');
  return hasBody && body === undefined ? `${bodyPipe(entry.id, apiUrl)} |\n${command}` : command;
}

/** Undefined for a body that is no argument. */
function bodyWord(entry: LogEntry): string | undefined {
  if (entry.body_truncated || entry.body.length > MAX_ARGUMENT_CHARACTERS) return undefined;
  const bytes = latin1Text(bodyBytes(entry));
  if (bytes.includes('\0')) return undefined;
  const word = bashWord(bytes);
  return word.length > MAX_ARGUMENT_CHARACTERS ? undefined : word;
}

function bodyPipe(id: string, apiUrl: string): string {
  const url = `${apiUrl.replace(/\/$/, '')}/api/requests/${encodeURIComponent(id)}/body`;
  return `curl -gsSf ${bashWord(url)} -H "Authorization: Bearer $TOKEN"`;
}

/** With `-X HEAD` curl waits for a body that never comes, while `-I` lets it send none. */
function methodWords(method: string, hasBody: boolean): string {
  if (method !== 'HEAD') return `-X ${bashWord(method)}`;
  return hasBody ? '-X HEAD --max-time 10' : '-I';
}

function urlWords(target: string, base: string): string {
  if (PLAIN_TARGET.test(target)) return bashWord(base + target);
  return `--request-target ${bashWord(target)} ${bashWord(`${base}/`)}`;
}

function headerValues(headers: [string, string][], hasBody: boolean): string[] {
  const sent = new Set(headers.map(([name]) => name.toLowerCase()));
  const own = hasBody ? [...OWN_HEADERS, ...OWN_BODY_HEADERS] : OWN_HEADERS;
  // Without a value curl leaves its own header out.
  const removed = own.filter((name) => !sent.has(name.toLowerCase())).map((name) => `${name}:`);
  const connection = headers.filter(([name]) => /^connection$/i.test(name)).map(([, value]) => value);
  const named = new Set(
    connection
      .join(',')
      .toLowerCase()
      .split(/\s*,\s*/),
  );
  const repeated = headers
    .filter(([name]) => !OF_CONNECTION.test(name) && !OF_PROXY.test(name) && !named.has(name.toLowerCase()))
    // curl reads `@name` as a file; a name that was captured is a token, which has no `@`.
    .filter(([name]) => !name.startsWith('@'))
    .map(([name, value]) => (value === '' ? `${name};` : `${name}: ${value}`));
  return [...removed, ...repeated];
}
