import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import type { Algorithm } from 'jsonwebtoken';
import { JwksClient, type SigningKey } from 'jwks-rsa';
import type { JwtConfig } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { unavailable } from '../errors.ts';
import { describeError, type Log } from '../log.ts';

/** Keys older than this are asked for again: with the re-check of sockets, a withdrawn key is out within a minute. */
export const FRESH_MS = 30_000;

/** Between two requests to a key server that failed, or that did not know a key. */
const COOL_DOWN_MS = 10_000;
const FETCH_TIMEOUT_MS = 3_000;

/** A key and the algorithms that it may be used with; a token has no say in either. */
export interface VerificationKey {
  key: KeyObject;
  algorithms: Algorithm[];
}

/**
 * Finds the key that a token claims to be signed by; undefined when there is no such key.
 * @throws HttpError 503 when the key server is away and no keys are known
 */
export type KeySource = (kid: string | undefined) => Promise<VerificationKey | undefined>;

/** The one source that is configured. */
export function createKeySource({ secret, publicKey, jwksUrl }: JwtConfig, log: Log): KeySource {
  if (jwksUrl !== '') return createJwksSource(jwksUrl, log, Date.now);
  // A KeyObject: jsonwebtoken parses a key in text anew for every token.
  const fixed = publicKey === '' ? { key: createSecretKey(Buffer.from(secret, 'utf8')), algorithms: ['HS256' as const] } : verificationKey(publicKey);
  return async () => fixed;
}

/**
 * Keys of a JSON Web Key Set (RFC 7517). An unknown `kid` may be a new key and asks again, at most
 * once in ten seconds; while the server is away the keys that it last gave stay good.
 *
 * @param now clock in Unix milliseconds
 */
export function createJwksSource(url: string, log: Log, now: () => number): KeySource {
  const client = new JwksClient({ jwksUri: url, cache: false, timeout: FETCH_TIMEOUT_MS });
  let keys: Map<string | undefined, VerificationKey> | undefined;
  let fetchedAt = -Infinity;
  let triedAt = -Infinity;
  let fetching: Promise<void> | undefined;

  async function fetchKeys(): Promise<void> {
    triedAt = now();
    try {
      // The client's own limit counts from the last byte: a server that dribbles would hold everybody up.
      keys = keysById(await withDeadline(FETCH_TIMEOUT_MS, client.getSigningKeys()));
      fetchedAt = now();
    } catch (error) {
      log.warn({ error: describeError(error), keysKept: keys?.size ?? 0 }, 'The key server gave no keys');
    }
  }

  /** One request at a time, and none so soon after another. */
  function refresh(): Promise<void> {
    if (fetching === undefined && now() - triedAt < COOL_DOWN_MS) return Promise.resolve();
    fetching ??= fetchKeys().finally(() => (fetching = undefined));
    return fetching;
  }

  return async (kid) => {
    if (now() - fetchedAt > FRESH_MS) await refresh();
    if (keys?.get(kid) === undefined) await refresh();
    if (keys === undefined) throw unavailable('Tokens cannot be checked: the key server is not reachable');
    return keys.get(kid);
  };
}

/** A token without `kid` is for the only key, where there is but one. */
function keysById(signingKeys: SigningKey[]): Map<string | undefined, VerificationKey> {
  const keys = signingKeys.map((key) => [key.kid, verificationKey(key.getPublicKey(), key.alg)] as const);
  const usable = keys.filter(([, { algorithms }]) => algorithms.length > 0);
  const [only] = usable;
  return new Map<string | undefined, VerificationKey>(only !== undefined && usable.length === 1 ? [...usable, [undefined, only[1]]] : usable);
}

/** Pins the algorithms by the kind of the key (RFC 8725, section 3.1), and by its own `alg` where it has one. */
function verificationKey(pem: string, alg?: string): VerificationKey {
  const key = createPublicKey(pem);
  const algorithms = algorithmsOf(key);
  return { key, algorithms: alg === undefined ? algorithms : algorithms.filter((name) => name === alg) };
}

function algorithmsOf(key: KeyObject): Algorithm[] {
  const curves: Record<string, Algorithm> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };
  if (key.asymmetricKeyType === 'rsa') return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
  if (key.asymmetricKeyType === 'rsa-pss') return ['PS256', 'PS384', 'PS512'];
  const curve = key.asymmetricKeyType === 'ec' ? curves[key.asymmetricKeyDetails?.namedCurve ?? ''] : undefined;
  return curve === undefined ? [] : [curve];
}
