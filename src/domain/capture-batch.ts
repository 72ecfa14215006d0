import { isUtf8 } from 'node:buffer';
import type { CapturedRequest } from './captured-request.ts';

/** Below this, what a body becomes in JSON matters little. */
const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Data of a capture job: plain JSON, because that is what BullMQ stores. In version 2 the body of its only capture
 * is a value of its own in Redis, as bytes; a worker that knows only version 1 must not take it for an empty body.
 */
export interface CaptureBatchJob {
  v: 1 | 2;
  /** UTC day, `YYYY-MM-DD`, that its captures count for. */
  day: string;
  captures: EncodedCapture[];
}

/**
 * A captured request in JSON: `b` is the body as text, `b64` as base64 where it is no UTF-8 or JSON would blow it up.
 */
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

/** A decoded capture that knows whether its body is text. */
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

/**
 * @param body of the capture in a job of version 2
 * @throws Error when the job was written in a form that this version does not know
 */
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

/**
 * Bytes that a capture takes in a job, roughly: base64 grows a third, JSON quoting a little,
 * and the rest is names and punctuation.
 */
export function encodedSize(capture: CapturedRequest): number {
  let headers = 0;
  for (const part of capture.rawHeaders) headers += part.length + 3;
  return 250 + headers + capture.target.length + Math.ceil(capture.body.length * 1.34);
}

/** Whether quoting makes a large text longer than base64 would: JSON takes six bytes for a control character. */
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
