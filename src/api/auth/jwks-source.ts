import { unavailable } from '../http/errors.ts';
import { describeError, type Log } from '../../log.ts';
import { fetchKeySet, type KeySet } from './key-set.ts';
import type { VerificationKey } from './verification-key.ts';

/** Age of keys while their server answers: with the re-check of sockets, a withdrawn key is out within a minute. */
export const FRESH_MS = 30_000;

/** Between two requests to a key server that failed, or that did not know a key. */
const COOL_DOWN_MS = 10_000;

/** Skipped entries that are named in a line of the log. */
const MAX_LOGGED = 20;

/**
 * Finds the key that a token claims to be signed by; undefined when there is no such key.
 * @throws HttpError 503 when the key server is unreachable and no keys are known
 */
export type KeySource = (kid: string | undefined) => Promise<VerificationKey | undefined>;

/** Keys of a JSON Web Key Set that is asked for again and again. */
export interface JwksSource {
  find: KeySource;
  /** Asks for the keys, once at a time; never fails. To be called more often than keys get old. */
  refresh: () => Promise<void>;
}

/**
 * A known key is found at once, whatever the key server does; while it fails the keys that it last
 * gave stay good. An unknown `kid` may be a new key and waits for a request, of which there is at most
 * one in ten seconds.
 *
 * @param now clock in Unix milliseconds
 */
export function createJwksSource(url: string, log: Log, now: () => number): JwksSource {
  let keys: KeySet['keys'] | undefined;
  let keysAskedAt = -Infinity;
  let lastAskedAt = -Infinity;
  let failing = false;
  let skippedBefore = '';
  let fetching: Promise<void> | undefined;

  async function fetchKeys(): Promise<void> {
    lastAskedAt = now();
    try {
      const set = await fetchKeySet(url);
      keys = set.keys;
      keysAskedAt = lastAskedAt;
      failing = false;
      logSkipped(set.skipped);
    } catch (error) {
      failing = true;
      log.warn({ error: describeError(error), keysKept: keys?.size ?? 0 }, 'The key server gave no keys');
    }
  }

  /** Once, and again when there are others. */
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

  /** The same for a token: it has the server asked not so soon after another. */
  function ask(): Promise<void> {
    return fetching === undefined && now() - lastAskedAt < COOL_DOWN_MS ? Promise.resolve() : refresh();
  }

  const isOld = (): boolean => now() - keysAskedAt > FRESH_MS;
  return {
    refresh,
    async find(kid) {
      // They get old only where their server fails, or where this process stood still.
      if (isOld() && !failing) await ask();
      if (keys?.has(kid) !== true) await ask();
      else if (isOld()) void ask();
      if (keys === undefined) throw unavailable('Tokens cannot be checked: the key server is not reachable');
      return keys.get(kid);
    },
  };
}
