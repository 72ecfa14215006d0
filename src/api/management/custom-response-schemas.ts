import { z } from 'zod';
import {
  defaultContentType,
  isBodiless,
  isHeader,
  isRefusedHeader,
  type CustomResponse,
} from '../../domain/custom-response.ts';
import { badRequest, printable } from '../http/errors.ts';

export const MAX_RESPONSE_BODY_BYTES = 16 * 1024;
export const MAX_RESPONSE_HEADERS = 20;
export const MAX_RESPONSE_HEADER_BYTES = 8 * 1024;
export const MAX_DELAY_MS = 10_000;

/** Body of `PUT /api/endpoints/:id/response`. */
export const customResponseBody = z.strictObject({
  status: z.int().min(200).max(599),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .meta({ description: `At most ${MAX_RESPONSE_HEADERS}, together ${MAX_RESPONSE_HEADER_BYTES} bytes` }),
  body: z
    .string()
    .default('')
    .meta({ description: `At most ${MAX_RESPONSE_BODY_BYTES} bytes when decoded; none with 204, 205 and 304` }),
  bodyEncoding: z.enum(['utf8', 'base64']).default('utf8'),
  delayMs: z.int().min(0).max(MAX_DELAY_MS).default(0),
});

/** What is stored and shown, with all defaults filled in. */
export const customResponse = z.strictObject({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  bodyEncoding: z.enum(['utf8', 'base64']),
  delayMs: z.int(),
});

/** @throws HttpError 400 */
export function customResponseOf(input: z.output<typeof customResponseBody>): CustomResponse {
  const body = bytesOf(input.body, input.bodyEncoding);
  if (body.length > MAX_RESPONSE_BODY_BYTES) throw badRequest(`body: has more than ${MAX_RESPONSE_BODY_BYTES} bytes`);
  if (body.length > 0 && isBodiless(input.status)) throw badRequest(`body: an answer of ${input.status} has none`);
  checkHeaders(input.headers);
  const hasType = Object.keys(input.headers).some((name) => name.toLowerCase() === 'content-type');
  const type = hasType || body.length === 0 ? {} : { 'Content-Type': defaultContentType(body) };
  return { ...input, body, headers: { ...input.headers, ...type } };
}

function bytesOf(text: string, encoding: CustomResponse['bodyEncoding']): Buffer {
  if (encoding === 'utf8' && !text.isWellFormed()) throw badRequest('body: has half of a surrogate pair');
  const bytes = Buffer.from(text, encoding);
  if (encoding === 'base64' && bytes.toString('base64') !== text) throw badRequest('body: is not Base64 with padding');
  return bytes;
}

function checkHeaders(headers: Record<string, string>): void {
  const entries = Object.entries(headers);
  if (entries.length > MAX_RESPONSE_HEADERS) throw badRequest(`headers: there are more than ${MAX_RESPONSE_HEADERS}`);
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (bytes > MAX_RESPONSE_HEADER_BYTES)
    throw badRequest(`headers: they have more than ${MAX_RESPONSE_HEADER_BYTES} bytes together`);
  for (const [name, value] of entries) {
    if (isRefusedHeader(name)) throw badRequest(`headers: "${printable(name)}" is set by the server, or not at all`);
    if (!isHeader(name, value)) throw badRequest(`headers: "${printable(name)}" is not a header that can be sent`);
  }
  const names = new Set(entries.map(([name]) => name.toLowerCase()));
  if (names.size < entries.length) throw badRequest('headers: a name is there twice, in upper and lower case');
}
