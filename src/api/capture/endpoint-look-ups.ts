import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { DeadlineExceeded, withDeadline } from '../../deadline.ts';
import { createGroupCommit } from '../../group-commit.ts';
import type { CaptureTarget } from '../../store/endpoints.ts';

/** How long a capture waits for the database where Redis doesn't know its endpoint. */
const LOOK_UP_TIMEOUT_MS = 1_000;

/** Keys that one statement looks up at most. */
const STATEMENT_MAX_KEYS = 500;

/** Connections that look-ups hold at most, of the pool that they share with the management routes. */
const MAX_CONNECTIONS = 2;

/** Look-ups that wait at most; more are refused at once. */
const MAX_WAITING = 5_000;

/** So long a process remembers that the database knew nothing of a key; Redis, asked before, knows new endpoints. */
const UNKNOWN_TTL_MS = 2_000;
const UNKNOWN_MAX = 20_000;

/** The database had too much to do for others. */
export class TooManyLookUps extends DeadlineExceeded {}

/** Runs what captures ask the database, with a time limit. */
export type LookUpLimit = <T>(ask: () => Promise<T>) => Promise<T>;

/**
 * Leaves most connections of a pool to the management routes. A look-up that is given up still holds its connection
 * until it ends; one whose time is over before its turn does not begin.
 */
export function limitLookUps(poolSize: number): LookUpLimit {
  const limit = pLimit(lookUpConnections(poolSize));
  return async (ask) => {
    if (limit.pendingCount >= MAX_WAITING) throw new TooManyLookUps('too many look-ups wait');
    const end = performance.now() + LOOK_UP_TIMEOUT_MS;
    return withDeadline(
      LOOK_UP_TIMEOUT_MS,
      limit(async () => {
        if (performance.now() >= end) throw new TooManyLookUps('the turn of this look-up came too late');
        return ask();
      }),
    );
  };
}

function lookUpConnections(poolSize: number): number {
  return Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor(poolSize / 4)));
}

export interface LookUpOptions {
  /** Of one process. */
  poolSize: number;
  findTargets: (keys: readonly string[]) => Promise<Map<string, CaptureTarget>>;
}

/**
 * A function that asks the database for the endpoint behind an id or alias. Senders need no token, so that they may
 * ask for as many as they like: what arrives while a statement is under way shares the next one, a key that many ask
 * for is asked for once, and management routes keep most of the connections.
 *
 * The function throws when the database does not answer in time.
 */
export function createEndpointLookUps(options: LookUpOptions): (key: string) => Promise<CaptureTarget | undefined> {
  const { poolSize, findTargets } = options;
  const unknown = new LRUCache<string, true>({ max: UNKNOWN_MAX, ttl: UNKNOWN_TTL_MS });
  const asked = new Map<string, Promise<CaptureTarget | undefined>>();
  const limited = limitLookUps(poolSize);
  const group = createGroupCommit<string, CaptureTarget | undefined>({
    maxItems: STATEMENT_MAX_KEYS,
    maxBytes: Infinity,
    maxInFlight: lookUpConnections(poolSize),
    maxWaitMs: LOOK_UP_TIMEOUT_MS,
    sizeOf: () => 1,
    async flush(keys) {
      const targets = await limited(() => findTargets(keys));
      return keys.map((key) => targets.get(key));
    },
  });

  function ask(key: string): Promise<CaptureTarget | undefined> {
    const known = asked.get(key);
    if (known !== undefined) return known;
    if (asked.size >= MAX_WAITING) throw new TooManyLookUps('too many look-ups wait');
    const answer = group.submit(key).finally(() => asked.delete(key));
    asked.set(key, answer);
    return answer;
  }

  return async (key) => {
    if (unknown.has(key)) return undefined;
    const target = await withDeadline(LOOK_UP_TIMEOUT_MS, ask(key));
    if (target === undefined) unknown.set(key, true);
    return target;
  };
}
