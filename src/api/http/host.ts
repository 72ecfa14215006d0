import type { IncomingMessage } from 'node:http';
import { badRequest } from './errors.ts';

/**
 * A request has one Host header (RFC 9112, section 3.2); only HTTP/1.0 may omit it. Node would answer 400 without a
 * body, and use the first of several.
 * @throws HttpError 400
 */
export function checkHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw badRequest('The request has more than one Host header; send one');
  if (hosts === 0 && httpVersion !== '1.0') throw badRequest('The request has no Host header; send one');
}
