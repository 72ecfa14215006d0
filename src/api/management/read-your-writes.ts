import type { Context } from 'koa';
import { principal } from '../auth/token.ts';
import { unavailable } from '../http/errors.ts';
import { describeError, type Log } from '../../log.ts';

/** Header of a read that may lack acknowledged captures, because not all were stored yet. */
export const PENDING_HEADER = 'X-Captures-Pending';

/** Makes reads and deletes see every capture that was acknowledged before they began. */
export interface InFlight {
  /** Before a read: waits; after the time limit the read continues with `X-Captures-Pending`. */
  settleForRead(ctx: Context): Promise<void>;
  /** @throws HttpError 503 after the time limit, because an entry that is stored later would survive its delete */
  settleForDelete(ctx: Context): Promise<void>;
}

/**
 * @param wait resolves with the number of batches in the shard of a user that are still not stored; throws when Redis is
 *   unreachable
 */
export function createInFlight(wait: (userId: string) => Promise<number>, log: Log): InFlight {
  return {
    async settleForRead(ctx) {
      try {
        const pending = await wait(principal(ctx).userId);
        if (pending > 0) ctx.set(PENDING_HEADER, String(pending));
      } catch (error) {
        log.warn({ error: describeError(error) }, 'Captures in flight are unknown to a read: Redis is unreachable');
        ctx.set(PENDING_HEADER, 'unknown');
      }
    },
    async settleForDelete(ctx) {
      const pending = await wait(principal(ctx).userId);
      if (pending > 0) throw unavailable('Captures are still being stored; repeat the delete in a few seconds');
    },
  };
}
