import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { DeadlineExceeded, withDeadline } from '../deadline.ts';
import { createGroupCommit } from '../group-commit.ts';

/** How long a capture, or the holder of a share link, waits for the database. */
const LOOK_UP_TIMEOUT_MS = 1_000;

const STATEMENT_MAX_KEYS = 500;

/** Maximum number of connections for look-ups, of the pool that the management routes share. */
const MAX_CONNECTIONS = 2;

const MAX_WAITING = 5_000;

/**
 * How long a process remembers that a key is unknown to the database. New endpoints are found in Redis first, and a new
 * share's token is known to nobody before.
 */
const UNKNOWN_TTL_MS = 2_000;
const UNKNOWN_MAX = 20_000;

/** The database is too busy with other look-ups. */
export class TooManyLookUps extends DeadlineExceeded {}

export type LookUpLimit = <T>(query: () => Promise<T>) => Promise<T>;

/** A look-up that timed out holds its connection until it ends; one that timed out before its turn does not start. */
export function limitLookUps(poolSize: number): LookUpLimit {
  const limit = pLimit(lookUpConnections(poolSize));
  return async (query) => {
    if (limit.pendingCount >= MAX_WAITING) throw new TooManyLookUps('too many look-ups wait');
    const end = performance.now() + LOOK_UP_TIMEOUT_MS;
    return withDeadline(
      LOOK_UP_TIMEOUT_MS,
      limit(async () => {
        if (performance.now() >= end) throw new TooManyLookUps('the turn of this look-up came too late');
        return query();
      }),
    );
  };
}

function lookUpConnections(poolSize: number): number {
  return Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor(poolSize / 4)));
}

export interface LookUpOptions<T> {
  poolSize: number;
  findAll: (keys: readonly string[]) => Promise<Map<string, T>>;
}

/**
 * Returns a function that finds something by its key in the database, for callers who have not shown who they are, and
 * may query any number of keys: keys that arrive while a statement runs share the next one, a key is queried once for
 * all its callers, and management routes keep most of the connections. The function throws when the database does not
 * answer in time.
 */
export function createLookUps<T>({ poolSize, findAll }: LookUpOptions<T>): (key: string) => Promise<T | undefined> {
  const unknown = new LRUCache<string, true>({ max: UNKNOWN_MAX, ttl: UNKNOWN_TTL_MS });
  const pending = new Map<string, Promise<T | undefined>>();
  const limited = limitLookUps(poolSize);
  const group = createGroupCommit<string, T | undefined>({
    maxItems: STATEMENT_MAX_KEYS,
    maxBytes: Infinity,
    maxInFlight: lookUpConnections(poolSize),
    maxWaitMs: LOOK_UP_TIMEOUT_MS,
    sizeOf: () => 1,
    async flush(keys) {
      const found = await limited(() => findAll(keys));
      return keys.map((key) => found.get(key));
    },
  });

  function lookUp(key: string): Promise<T | undefined> {
    const running = pending.get(key);
    if (running !== undefined) return running;
    if (pending.size >= MAX_WAITING) throw new TooManyLookUps('too many look-ups wait');
    const answer = group.submit(key).finally(() => pending.delete(key));
    pending.set(key, answer);
    return answer;
  }

  return async (key) => {
    if (unknown.has(key)) return undefined;
    const found = await withDeadline(LOOK_UP_TIMEOUT_MS, lookUp(key));
    if (found === undefined) unknown.set(key, true);
    return found;
  };
}
