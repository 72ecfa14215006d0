import { createHmac, timingSafeEqual } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/** Bytes that are hashed in one turn of the event loop: about a millisecond. */
const SLICE_BYTES = 256 * 1024;

/** The input of a check. The payload is the raw body, byte for byte. */
export interface SignatureInput {
  payload: Buffer;
  signature: string;
  /** The HMAC key is the UTF-8 bytes of the whole secret, including prefixes like `whsec_`. */
  secret: string;
  timestamp?: string | undefined;
}

/** A signature header as its provider reads it. */
export interface ParsedSignature {
  /** Signatures in the header that may match. */
  candidates: string[];
  /** Computes the signature that a candidate must equal; missing when it cannot be computed. */
  sign?: (payload: Buffer, secret: string) => Promise<string>;
  /** A signature in the form of the provider's header. */
  present: (signature: string) => string;
  /** The fault of the input, as a sentence for its author; the check fails then. */
  problem?: string | undefined;
  /** Unix seconds of the signing, as the provider states it. */
  signedAt?: number | undefined;
}

export interface SignatureScheme {
  header: string;
  /** Header that carries the timestamp, where it is not in the signature. */
  timestampHeader?: string;
  parse: (input: SignatureInput) => ParsedSignature;
}

/** Lower-case hex of HMAC-SHA256 over a prefix and a payload. */
export async function hmacHex(secret: string, prefix: string, payload: Buffer): Promise<string> {
  return (await hmac(secret, prefix, payload)).toString('hex');
}

export async function hmacBase64(secret: string, payload: Buffer): Promise<string> {
  return (await hmac(secret, '', payload)).toString('base64');
}

/** Why a text is not 64 lower-case hex digits; undefined when it is. */
export function hexProblem(signature: string): string | undefined {
  if (/^[0-9a-f]{64}$/.test(signature)) return undefined;
  if (/^[0-9a-fA-F]{64}$/.test(signature)) return 'The signature has capital hex digits; providers send lower case.';
  if (/^[0-9a-fA-F]+$/.test(signature)) return `The signature has ${signature.length} hex digits; HMAC-SHA256 has 64.`;
  return 'The signature is not hexadecimal.';
}

/** Compares texts, not decoded bytes, because Node's hex and Base64 decoders ignore trailing junk. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

async function hmac(secret: string, prefix: string, payload: Buffer): Promise<Buffer> {
  const digest = createHmac('sha256', Buffer.from(secret, 'utf8')).update(prefix);
  for (let start = 0; start < payload.length; start += SLICE_BYTES) {
    if (start > 0) await setImmediate();
    digest.update(payload.subarray(start, start + SLICE_BYTES));
  }
  return digest.digest();
}
