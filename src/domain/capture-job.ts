import { isUtf8 } from 'node:buffer';
import type { CapturedRequest } from './captured-request.ts';

/** Below this size the overhead of JSON does not matter. */
const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Data of a capture job, as plain JSON for BullMQ. In version 2 the body of its only capture is a separate value in
 * Redis, as bytes; a worker that only knows version 1 must not read it as an empty body.
 */
export interface CaptureBatchJob {
  v: 1 | 2;
  /** UTC day, `YYYY-MM-DD`, that its captures count for. */
  day: string;
  captures: EncodedCapture[];
}

/** `b` is the body as text; `b64` is Base64, for other bytes and for texts that grow in JSON. */
export interface EncodedCapture {
  id: string;
  endpoint: string;
  user: string;
  method: string;
  target: string;
  headers: string[];
  ip: string;
  b?: string;
  b64?: string;
}

export interface DecodedCapture extends CapturedRequest {
  isUtf8: boolean;
}

export function encodeBatch(day: string, captures: readonly CapturedRequest[]): CaptureBatchJob {
  return { v: 1, day, captures: captures.map(encodeCapture) };
}

/** The job of one large capture, without its body. */
export function encodeLarge(day: string, capture: CapturedRequest): CaptureBatchJob {
  return { v: 2, day, captures: [describeCapture(capture)] };
}

/** Jobs of version 2 need `body`. Throws an Error for a version that is unknown here. */
export function decodeBatch(job: CaptureBatchJob, body?: Buffer): DecodedCapture[] {
  const [first] = job.captures;
  if (job.v === 2 && body !== undefined && first !== undefined)
    return [{ ...decodeCapture(first), body, isUtf8: isUtf8(body) }];
  if (job.v !== 1) throw new Error(`unknown capture batch version ${String(job.v)}: is the worker older than the API?`);
  return job.captures.map(decodeCapture);
}

export function encodeCapture(capture: CapturedRequest): EncodedCapture {
  const { body } = capture;
  const text = isUtf8(body) && !growsInJson(body);
  return { ...describeCapture(capture), ...(text ? { b: body.toString('utf8') } : { b64: body.toString('base64') }) };
}

function describeCapture({ id, endpointId, userId, method, target, rawHeaders, ip }: CapturedRequest): EncodedCapture {
  return { id, endpoint: endpointId, user: userId, method, target, headers: rawHeaders, ip };
}

/** Approximate bytes in a job: Base64 adds a third; the constants cover quoting, names and punctuation. */
export function encodedSize(capture: CapturedRequest): number {
  let headers = 0;
  for (const part of capture.rawHeaders) headers += part.length + 3;
  return 250 + headers + capture.target.length + Math.ceil(capture.body.length * 1.34);
}

/** Whether JSON makes a large text longer than Base64 would: it takes six bytes for a control character. */
function growsInJson(body: Buffer): boolean {
  if (body.length < SMALL_BODY_BYTES) return false;
  let extra = 0;
  for (const byte of body)
    if (byte < 0x20) extra += 5;
    else if (byte === 0x22 || byte === 0x5c) extra += 1;
  return extra > body.length / 3;
}

export function decodeCapture(encoded: EncodedCapture): DecodedCapture {
  const body = encoded.b64 === undefined ? Buffer.from(encoded.b ?? '', 'utf8') : Buffer.from(encoded.b64, 'base64');
  return {
    id: encoded.id,
    endpointId: encoded.endpoint,
    userId: encoded.user,
    method: encoded.method,
    target: encoded.target,
    rawHeaders: encoded.headers,
    ip: encoded.ip,
    isUtf8: encoded.b64 === undefined || isUtf8(body),
    body,
  };
}
