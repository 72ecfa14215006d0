import { createPublicKey, createSecretKey } from 'node:crypto';
import type { JwtConfig } from '../../config.ts';
import type { Log } from '../../log.ts';
import { createJwksSource, type KeySource } from './jwks-source.ts';
import { verificationKey } from './verification-key.ts';

/** Interval of key requests, shorter than `FRESH_MS`. */
const REFRESH_MS = 20_000;

export interface Keys {
  find: KeySource;
  close: () => void;
}

export function openKeys({ secret, publicKey, jwksUrl }: JwtConfig, log: Log, refreshMs = REFRESH_MS): Keys {
  if (jwksUrl !== '') {
    const { find, refresh } = createJwksSource(jwksUrl, log, Date.now);
    void refresh();
    const timer = setInterval(() => void refresh(), refreshMs);
    timer.unref();
    return { find, close: () => clearInterval(timer) };
  }
  // As a KeyObject: jsonwebtoken parses a textual key again for every token.
  const fixed =
    publicKey === ''
      ? { key: createSecretKey(Buffer.from(secret, 'utf8')), algorithms: ['HS256' as const] }
      : verificationKey(createPublicKey(publicKey));
  return { find: async () => fixed, close: () => {} };
}
