import type { StoredRequest } from '../captured-request.ts';
import { bodyPieces } from '../body-pieces.ts';
import { headerPairs, isChunked } from '../header-lines.ts';
import { printfFormat, quote, word } from './shell.ts';

/** Longer bodies come through a pipe: Linux limits an argument to 128 KiB. */
const MAX_ARGUMENT_BYTES = 64 * 1024;

/** Anything else in a target goes past curl's URL parser, which drops a fragment and differs between versions. */
const PLAIN_TARGET = /^\/[A-Za-z0-9\-._~!$&'()*+,;=:@/?%]*$/;

const PRINTABLE = /^[ -~]*$/;

/** What curl sends on its own. */
const OWN_HEADERS = ['User-Agent', 'Accept'];
const OWN_BODY_HEADERS = ['Content-Type', 'Expect'];

/**
 * A command for a POSIX shell that sends the request again, to the byte: curl only moves `Host` to the top and writes
 * the length of the body anew. Nothing in it is read by the shell or by curl as anything but data.
 * @param baseUrl to which the target is appended
 */
export function* curlCommand(request: StoredRequest, baseUrl: string): Generator<string> {
  const { rawHeaders, body } = request;
  const headers = headerPairs(rawHeaders);
  const hasBody = body.length > 0 || headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const piped = hasBody && !isArgument(request);
  if (piped) yield* bodyPipe(request);
  const words = [...methodWords(request.method, hasBody), ...urlWords(request.target, baseUrl)];
  yield `curl -g --path-as-is --http1.1 ${words.join(' ')}`;
  for (const header of headerArguments(headers, hasBody, new URL(baseUrl).host, isChunked(rawHeaders)))
    yield ` \\\n  -H ${header}`;
  if (piped) yield ' \\\n  --data-binary @-';
  // Not `--data-binary`: it reads a file where the text begins with `@`.
  else if (hasBody) yield ` \\\n  --data-raw ${quote(body.toString('latin1'))}`;
  yield '\n';
}

function isArgument({ body }: StoredRequest): boolean {
  return body.length <= MAX_ARGUMENT_BYTES && PRINTABLE.test(body.toString('latin1'));
}

/** Short text stays readable; the rest is Base64. */
function* bodyPipe({ body, isUtf8 }: StoredRequest): Generator<string> {
  if (isUtf8 && body.length <= MAX_ARGUMENT_BYTES) return yield `printf '${printfFormat(body)}' | `;
  yield "printf %s '";
  yield* bodyPieces(body, 'base64');
  yield "' | base64 -d | ";
}

/** With `-X HEAD` curl waits for a body that never comes, while `-I` lets it send none. */
function methodWords(method: string, hasBody: boolean): string[] {
  if (method !== 'HEAD') return ['-X', word(method)];
  return hasBody ? ['-X', 'HEAD', '--max-time', '10'] : ['-I'];
}

function urlWords(target: string, baseUrl: string): string[] {
  if (PLAIN_TARGET.test(target)) return [word(baseUrl + target)];
  return ['--request-target', word(target), word(`${baseUrl}/`)];
}

function* headerArguments(
  headers: [string, string][],
  hasBody: boolean,
  host: string,
  chunked: boolean,
): Generator<string> {
  const own = hasBody ? [...OWN_HEADERS, ...OWN_BODY_HEADERS] : OWN_HEADERS;
  const sent = new Set(headers.map(([name]) => name.toLowerCase()));
  // Without a value curl leaves its own header out.
  for (const name of own) if (!sent.has(name.toLowerCase())) yield quote(`${name}:`);
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const made =
      key === 'content-length' || (key === 'transfer-encoding' && !chunked) || (key === 'host' && value === host);
    // curl reads `@name` as a file; a captured name is a token, which has no `@`.
    if (made || name.startsWith('@')) continue;
    yield word(value === '' ? `${name};` : `${name}: ${value}`);
  }
}
