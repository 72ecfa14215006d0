import { bodyPieces } from '../body-pieces.ts';
import type { StoredRequest } from '../captured-request.ts';
import { headerLines, headerPairs } from '../header-lines.ts';
import { presentRequest } from '../log-entry.ts';
import type { ExportEnd } from './export-end.ts';

/* HAR 1.2. Fields of our own begin with `_`. A file without its end is not JSON, so it is not taken for a whole one. */

const SECRETS = 'Contains what senders sent, secrets and personal data too.';

export const HAR_START = `{"log":${JSON.stringify({
  version: '1.2',
  creator: { name: 'Hookbay', version: '1' },
}).slice(0, -1)},"entries":[\n`;

/** Says in words, too, where the file was cut, because programs ignore `_more`. */
export function harEnd({ count, next, more }: ExportEnd): string {
  const comment = more ? `${SECRETS} Cut after ${count} entries: the rest is behind after=${next}.` : SECRETS;
  return `\n],${JSON.stringify({ comment, _count: count, _next: next, _more: more }).slice(1)}}\n`;
}

/** The answer is not stored: `status: 0` says that it is unknown. */
const UNKNOWN_ANSWER = {
  time: 0,
  response: {
    status: 0,
    statusText: '',
    httpVersion: '',
    cookies: [],
    headers: [],
    content: { size: 0, mimeType: '' },
    redirectURL: '',
    headersSize: -1,
    bodySize: -1,
  },
  cache: {},
  timings: { send: 0, wait: 0, receive: 0 },
};

/** @param baseUrl to which the target is appended: URLs in HAR are absolute */
export function* harEntry(request: StoredRequest, baseUrl: string): Generator<string> {
  const { id, endpointId, seq, ip, target, method, rawHeaders, size, body } = request;
  const entry = presentRequest({ ...request, body: Buffer.alloc(0) });
  const about = { startedDateTime: entry.created_at, ...UNKNOWN_ANSWER };
  const own = { _id: id, _endpointId: endpointId, _seq: seq, _clientIPAddress: ip, _target: target };
  const sent = {
    method,
    url: baseUrl + uriOf(target),
    httpVersion: 'HTTP/1.1',
    cookies: cookiesOf(entry.headers['cookie'] ?? ''),
    headers: headerPairs(rawHeaders).map(([name, value]) => ({ name, value })),
    queryString: Object.entries(entry.query).flatMap(([name, values]) =>
      [values].flat().map((value) => ({ name, value })),
    ),
    headersSize: `${method} ${target} HTTP/1.1\r\n${headerLines(rawHeaders, '\r\n')}\r\n`.length,
    bodySize: size,
  };
  yield `${JSON.stringify({ ...about, ...own }).slice(0, -1)},"request":${JSON.stringify(sent).slice(0, -1)}`;
  if (size > 0) {
    const binary = entry.body_encoding === 'base64' && { _encoding: 'base64' };
    const postData = JSON.stringify({ mimeType: entry.content_type, ...binary, text: '' });
    yield `,"postData":${postData.slice(0, -2)}`;
    for (const piece of bodyPieces(body, entry.body_encoding)) yield JSON.stringify(piece).slice(1, -1);
    yield '"}';
  }
  yield '}}';
}

/** A target may hold any bytes but spaces and control characters; in a URI the others are percent-encoded. */
function uriOf(target: string): string {
  return target.replaceAll(/%(?![0-9A-Fa-f]{2})|[^%A-Za-z0-9\-._~!$&'()*+,;=:@/?]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

function cookiesOf(header: string): { name: string; value: string }[] {
  const parts = header.split(';').map((part) => part.trim());
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', ...value] = part.split('=');
      return { name, value: value.join('=') };
    });
}
