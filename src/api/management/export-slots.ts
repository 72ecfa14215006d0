import type { Redis } from 'ioredis';
import pLimit from 'p-limit';
import { holdLease } from '../../redis/lease.ts';
import { redisKeys } from '../../redis/keys.ts';
import { httpError, unavailable } from '../http/errors.ts';

/** Exports that run at once in a process, and of their queries. */
const MAX_EXPORTS = 20;
const MAX_QUERIES = 2;

/** How long an export may begin entries, and how long the last one may take: slow readers could hold slots for hours. */
export const MAX_EXPORT_MS = 10 * 60_000;
const LAST_ENTRY_MS = 60_000;

/** When a process dies, its leases end within this time. */
const RETRY_AFTER_SECONDS = 10;

/** How long an export may take to send its end when the process stops. */
const DRAIN_MS = 5_000;

export interface ExportSlots {
  /**
   * A slot for one export of a user: a user has one over all processes. Without Redis one in each, because a limit
   * must not add to an outage.
   * @param cut called when the export has to end at once
   * @throws HttpError 429, 503
   */
  take(userId: string, cut: () => void): Promise<ExportSlot>;
  queued: <T>(query: () => Promise<T>) => Promise<T>;
  /** True once the process stops: exports end with what they have. */
  stopping(): boolean;
  /** Lets running exports end within seconds, and cuts those that have not. */
  drain(): void;
}

export interface ExportSlot {
  /** A second call has no effect. */
  free(): Promise<void>;
}

export function createExportSlots(redis: Redis, prefix: string, maxMs = MAX_EXPORT_MS + LAST_ENTRY_MS): ExportSlots {
  const cuts = new Map<string, () => void>();
  let stopping = false;

  return {
    queued: pLimit(MAX_QUERIES),
    stopping: () => stopping,
    async take(userId, cut) {
      if (stopping) throw unavailable('This process is stopping; try again');
      if (cuts.has(userId)) throw tooMany();
      if (cuts.size >= MAX_EXPORTS) throw unavailable('Too many exports are running; try again');
      cuts.set(userId, cut);
      const late = setTimeout(cut, maxMs);
      const lease = holdLease(redis, redisKeys(prefix).exportLease(userId));
      let freed: Promise<void> | undefined;
      const free = (): Promise<void> => {
        clearTimeout(late);
        return (freed ??= lease.release().finally(() => cuts.delete(userId)));
      };
      if ((await lease.acquired) !== false) return { free };
      await free();
      throw tooMany();
    },
    drain() {
      stopping = true;
      setTimeout(() => {
        for (const cut of cuts.values()) cut();
      }, DRAIN_MS).unref();
    },
  };
}

function tooMany(): Error {
  return httpError(429, 'Another export of yours is running; wait for its end', {
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  });
}
