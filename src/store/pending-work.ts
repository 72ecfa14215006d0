import type { Knex } from 'knex';

/** Work that waits for an operator (dead letters) and for the sweep (deleted endpoints with entries). */
export interface PendingWork {
  deadLetters: number;
  purges: number;
}

export async function countPendingWork(db: Knex): Promise<PendingWork> {
  const sql = 'SELECT (SELECT COUNT(*) FROM dead_letters) AS deadLetters, (SELECT COUNT(*) FROM purges) AS purges';
  const [[row]] = (await db.raw(sql)) as [[PendingWork]];
  return row;
}
