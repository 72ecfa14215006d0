import type { KeyObject } from 'node:crypto';
import type { Algorithm } from 'jsonwebtoken';

/** A key and the algorithms that it may be used with; a token decides neither. */
export interface VerificationKey {
  key: KeyObject;
  algorithms: Algorithm[];
}

/** Pins the algorithms by the type of the key (RFC 8725, section 3.1), and by its own `alg` where it has one. */
export function verificationKey(key: KeyObject, alg?: unknown): VerificationKey {
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
