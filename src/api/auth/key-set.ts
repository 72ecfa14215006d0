import { createPublicKey } from 'node:crypto';
import { printable } from '../http/errors.ts';
import { verificationKey, type VerificationKey } from './verification-key.ts';

/** From the request to the last byte of the response. */
const FETCH_TIMEOUT_MS = 3_000;
const MAX_BYTES = 512 * 1024;

/** The minimum that jsonwebtoken accepts (RFC 7518, section 3.3). */
const MIN_RSA_BITS = 2_048;

/** The part of a JSON Web Key Set (RFC 7517) that can verify tokens. */
export interface KeySet {
  keys: Map<string | undefined, VerificationKey>;
  /** The other entries, each with the reason. */
  skipped: string[];
}

/** @throws Error when no key set arrives in time; a set without usable keys is no error */
export async function fetchKeySet(url: string): Promise<KeySet> {
  const set = JSON.parse(await fetchText(url)) as { keys?: unknown } | null;
  if (!Array.isArray(set?.keys)) throw new Error('The answer is not a JSON Web Key Set');
  return readKeySet(set.keys);
}

async function fetchText(url: string): Promise<string> {
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
  // fetch hides the cause behind "fetch failed".
  const response = await fetch(url, { signal, redirect: 'error' }).catch((error: Error) => {
    throw error.cause ?? error;
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The answer has the status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`The answer has more than ${MAX_BYTES} bytes`);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readKeySet(entries: unknown[]): KeySet {
  const usable: [string | undefined, VerificationKey][] = [];
  const skipped: string[] = [];
  for (const [i, entry] of entries.entries()) {
    const { kid } = (entry ?? {}) as { kid?: unknown };
    try {
      usable.push([typeof kid === 'string' ? kid : undefined, readKey(entry)]);
    } catch (error) {
      skipped.push(`${typeof kid === 'string' ? printable(kid) : `entry ${i}`}: ${(error as Error).message}`);
    }
  }
  const keys = new Map(usable);
  const [only] = usable;
  // A token without `kid` can only mean a single key.
  if (only !== undefined && usable.length === 1) keys.set(undefined, only[1]);
  return { keys, skipped };
}

/** @throws Error with the reason why the entry cannot verify tokens */
function readKey(entry: unknown): VerificationKey {
  if (typeof entry !== 'object' || entry === null) throw new Error('it is not an object');
  const { kty, use, key_ops: operations, alg } = entry as Record<string, unknown>;
  if (kty !== 'RSA' && kty !== 'EC') throw new Error('it is neither an RSA nor an EC key');
  if ((use !== undefined && use !== 'sig') || (Array.isArray(operations) && !operations.includes('verify'))) {
    throw new Error('it is not for checking signatures');
  }
  if ('d' in entry) throw new Error('it is a private key');
  const key = verificationKey(createPublicKey({ key: entry, format: 'jwk' }), alg);
  if (key.algorithms.length === 0) throw new Error('its algorithm is not supported');
  const { modulusLength } = key.key.asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined && modulusLength < MIN_RSA_BITS) {
    throw new Error(`it has fewer than ${MIN_RSA_BITS} bits`);
  }
  return key;
}
