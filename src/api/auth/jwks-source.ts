import { unavailable } from '../http/errors.ts';
import { describeError, type Log } from '../../log.ts';
import { fetchKeySet, type KeySet } from './key-set.ts';
import type { VerificationKey } from './verification-key.ts';

/** Maximum age of keys while their server answers; with the re-check of sockets it makes a minute at most. */
export const FRESH_MS = 30_000;

/** Pause between two requests to a key server after a failure or an unknown key. */
const COOL_DOWN_MS = 10_000;

const MAX_LOGGED = 20;

/** @throws HttpError 503 when the key server is unreachable and no keys are known */
export type KeySource = (kid: string | undefined) => Promise<VerificationKey | undefined>;

/** Keys of a JSON Web Key Set that is fetched at intervals. */
export interface JwksSource {
  find: KeySource;
  /** Fetches the keys, one request at a time; never fails. Must be called more often than keys become stale. */
  refresh: () => Promise<void>;
}

/**
 * A known key is found at once, whatever the state of the key server; while that fails, its last keys stay valid. An
 * unknown `kid` may be a new key and waits for a request, of which there is at most one in ten seconds.
 * @param now clock in Unix milliseconds
 */
export function createJwksSource(url: string, log: Log, now: () => number): JwksSource {
  let keys: KeySet['keys'] | undefined;
  let keysFetchedAt = -Infinity;
  let lastFetchAt = -Infinity;
  let failing = false;
  let skippedBefore = '';
  let fetching: Promise<void> | undefined;

  async function fetchKeys(): Promise<void> {
    lastFetchAt = now();
    try {
      const set = await fetchKeySet(url);
      keys = set.keys;
      keysFetchedAt = lastFetchAt;
      failing = false;
      logSkipped(set.skipped);
    } catch (error) {
      failing = true;
      log.warn(
        { error: describeError(error), keysKept: keys?.size ?? 0 },
        'Keys could not be fetched from the key server',
      );
    }
  }

  /** Logs the same entries only once in a row. */
  function logSkipped(skipped: string[]): void {
    const text = skipped.join();
    const isNew = text !== '' && text !== skippedBefore;
    skippedBefore = text;
    if (!isNew) return;
    const fields = { skipped: skipped.slice(0, MAX_LOGGED), count: skipped.length };
    log.warn(fields, 'Keys of the key server cannot be used');
  }

  function refresh(): Promise<void> {
    fetching ??= fetchKeys().finally(() => (fetching = undefined));
    return fetching;
  }

  /** For a token: does not repeat a recent request. */
  function refreshUnlessRecent(): Promise<void> {
    return fetching === undefined && now() - lastFetchAt < COOL_DOWN_MS ? Promise.resolve() : refresh();
  }

  const isStale = (): boolean => now() - keysFetchedAt > FRESH_MS;
  return {
    refresh,
    async find(kid) {
      // Keys are stale only where their server fails, or where this process was suspended.
      if (isStale() && !failing) await refreshUnlessRecent();
      if (keys?.has(kid) !== true) await refreshUnlessRecent();
      else if (isStale()) void refreshUnlessRecent();
      if (keys === undefined) throw unavailable('Tokens cannot be checked: the key server is unreachable');
      return keys.get(kid);
    },
  };
}
