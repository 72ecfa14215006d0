import type { Knex } from 'knex';
import type { UserPlan } from '../redis/plan-changes.ts';
import { listUserPlans, userIdOf } from '../store/users.ts';

const USERS_AT_ONCE = 500;
const MAX_CHUNKS = 20;

export interface PlanSweepOptions {
  db: Knex;
  /** Removes copies in Redis that differ from these; returns the users that had one. */
  removeWrong: (users: UserPlan[]) => Promise<Set<string>>;
  /** The last user that was compared, as the key in the database; kept between sweeps. */
  cursor: { read: () => Promise<Buffer | undefined>; write: (user: Buffer | undefined) => Promise<void> };
  isOver: () => boolean;
}

/** Compares some users at a time, in key order. Returns how many copies were wrong. */
export async function sweepPlans({ db, removeWrong, cursor, isOver }: PlanSweepOptions): Promise<number> {
  let last = (await cursor.read()) ?? Buffer.alloc(0);
  let wrong = 0;
  for (let chunk = 0; chunk < MAX_CHUNKS && !isOver(); chunk += 1) {
    const rows = await listUserPlans(db, last, USERS_AT_ONCE);
    wrong += (await removeWrong(rows.map(({ id, plan }) => ({ userId: userIdOf(id), plan })))).size;
    last = rows.at(-1)?.id ?? last;
    if (rows.length < USERS_AT_ONCE) {
      await cursor.write(undefined);
      return wrong;
    }
  }
  await cursor.write(last);
  return wrong;
}
