import { isHttpError } from 'http-errors';
import { isShareToken } from '../../domain/share.ts';
import { verifyShare } from './share-admission.ts';
import { verifyToken, type AuthOptions } from './token.ts';

/** How often tokens are checked again; with the age of keys (`jwks-source.ts`) a withdrawn key is out within a minute. */
export const TOKEN_RECHECK_MS = 20_000;

export interface WatchedToken {
  token: string;
  /** In Unix milliseconds. */
  expiresAt: number;
  auth: AuthOptions;
  recheckMs: number;
}

/**
 * Calls `onEnd` when the token of a connection expires, or its key or share link is withdrawn. Returns a function that
 * stops this.
 */
export function watchToken({ token, expiresAt, auth, recheckMs }: WatchedToken, onEnd: () => void): () => void {
  let timer: NodeJS.Timeout;
  let stopped = false;

  function checkLater(): void {
    const pause = recheckMs * (0.75 + Math.random() / 4);
    timer = setTimeout(() => void check(), Math.max(0, Math.min(pause, expiresAt - Date.now())));
    timer.unref();
  }

  async function check(): Promise<void> {
    const ended = Date.now() >= expiresAt || (await isWithdrawn(token, auth));
    if (stopped) return;
    if (ended) onEnd();
    else checkLater();
  }

  checkLater();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

async function isWithdrawn(token: string, auth: AuthOptions): Promise<boolean> {
  try {
    await (isShareToken(token) ? verifyShare : verifyToken)(token, auth);
    return false;
  } catch (error) {
    // An unreachable key server withdraws no key.
    return isHttpError(error) && error.status < 500;
  }
}
