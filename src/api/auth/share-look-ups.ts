import { LRUCache } from 'lru-cache';
import { hashShareToken } from '../../domain/share.ts';
import type { Database } from '../../store/database.ts';
import { createLookUps } from '../../store/look-ups.ts';
import { findShares, type KnownShare } from '../../store/shares.ts';

/** How long a withdrawn link may still work on another process. */
const COPY_TTL_MS = 2_000;
const COPIES_MAX = 10_000;

export interface ShareLookUps {
  find(token: string): Promise<KnownShare | undefined>;
  forget(shareId: string): void;
}

/**
 * Finds links in the database, at most once in two seconds each: their holders are many, and a copy needs no word from
 * Redis to end.
 */
export function createShareLookUps({ db, poolSize }: { db: Database; poolSize: number }): ShareLookUps {
  const copies = new LRUCache<string, KnownShare>({ max: COPIES_MAX, ttl: COPY_TTL_MS });
  const lookUp = createLookUps({ poolSize, findAll: (hashes) => findShares(db.knex, hashes) });
  return {
    async find(token) {
      const hash = hashShareToken(token).toString('hex');
      const copy = copies.get(hash);
      if (copy !== undefined) return copy;
      // The age counts from before the query, which may have read the row before it changed.
      const start = performance.now();
      const found = await lookUp(hash);
      if (found !== undefined) copies.set(hash, found, { start });
      return found;
    },
    forget(shareId) {
      for (const [hash, { share }] of copies.entries()) if (share.id === shareId) copies.delete(hash);
    },
  };
}
