import { describeError, type Log } from '../../log.ts';
import type { EndpointCache } from '../../redis/endpoint-cache.ts';
import type { Database } from '../../store/database.ts';
import { savePlan } from '../../store/users.ts';

export interface PlanMemoryOptions {
  db: Database;
  endpoints: Pick<EndpointCache, 'findPlan' | 'beginPlanChange' | 'finishPlanChange'>;
  log: Log;
}

type RememberPlan = (userId: string, plan: string) => Promise<void>;

/** Redis did not confirm the removal of its copy of the plan. */
class CopyNotRemoved extends Error {}

/**
 * Saves the plan that a user's token names, because captures carry no token. Redis' copy is removed under the lock on
 * the user's row, before the commit, so the two cannot disagree after a failure, and of two tokens with different plans
 * the later one wins. Without Redis nothing is written, and the next request tries again.
 */
export function createPlanMemory({ db, endpoints, log }: PlanMemoryOptions): RememberPlan {
  return async (userId, plan) => {
    const known = await endpoints.findPlan(userId).catch(() => plan);
    if (known === plan) return;
    let token = '';
    try {
      await db.knex.transaction(async (trx) => {
        await savePlan(trx, userId, plan, new Date());
        token = await endpoints.beginPlanChange(userId).catch((cause: unknown) => {
          throw new CopyNotRemoved('Redis did not answer', { cause });
        });
      });
    } catch (error) {
      if (!(error instanceof CopyNotRemoved)) throw error;
      return log.warn({ error: describeError(error.cause) }, 'Plan not saved; the next request tries again');
    }
    await endpoints.finishPlanChange(userId, token, plan).catch((error: unknown) => {
      log.warn({ error: describeError(error) }, 'Plan not announced; look-ups read it from the database');
    });
  };
}
