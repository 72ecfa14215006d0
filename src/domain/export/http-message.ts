import type { StoredRequest } from '../captured-request.ts';
import { headerLines, isChunked } from '../header-lines.ts';

const SLICE_BYTES = 64 * 1024;

/**
 * The message as it was sent (RFC 9112). Stored is what chunks contained, not the chunks: a body in chunks becomes one
 * chunk, so that the message stays valid.
 */
export function* httpMessage({ method, target, rawHeaders, body }: StoredRequest): Generator<Buffer> {
  const head = `${method} ${target} HTTP/1.1\r\n${headerLines(rawHeaders, '\r\n')}\r\n`;
  // Node reads header bytes as Latin-1.
  yield Buffer.from(head, 'latin1');
  const chunked = isChunked(rawHeaders);
  if (chunked && body.length > 0) yield Buffer.from(`${body.length.toString(16)}\r\n`);
  for (let start = 0; start < body.length; start += SLICE_BYTES) yield body.subarray(start, start + SLICE_BYTES);
  if (chunked) yield Buffer.from(body.length > 0 ? '\r\n0\r\n\r\n' : '0\r\n\r\n');
}
