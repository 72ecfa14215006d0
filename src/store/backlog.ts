import type { Knex } from 'knex';

/** Work that waits for an operator (dead letters) and for the sweep (deleted endpoints with entries). */
export interface Backlog {
  deadLetters: number;
  purges: number;
}

export async function countBacklog(db: Knex): Promise<Backlog> {
  const sql = 'SELECT (SELECT COUNT(*) FROM dead_letters) AS deadLetters, (SELECT COUNT(*) FROM purges) AS purges';
  const [[row]] = (await db.raw(sql)) as [[Backlog]];
  return row;
}
