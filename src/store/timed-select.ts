import type { Pool, RowDataPacket } from 'mysql2/promise';
import { withDeadline } from '../deadline.ts';

/** MariaDB executes the comment `M!` and ignores the hint, MySQL the other way round. */
const STATEMENT_MS = 1_000;
const LIMITED = `/*M! SET STATEMENT max_statement_time=${STATEMENT_MS / 1000} FOR */ SELECT /*+ MAX_EXECUTION_TIME(${STATEMENT_MS}) */`;

/** For a database that hangs and does not end the statement itself. */
const DEADLINE_MS = 5_000;

export type Values = (Buffer | Buffer[] | string[] | number)[];

/** A `SELECT` that the database ends after a second; `rest` follows the keyword. */
export async function selectInTime<R>(pool: Pool, rest: string, values: Values): Promise<R[]> {
  const [rows] = await withDeadline(DEADLINE_MS, pool.query<RowDataPacket[]>(`${LIMITED} ${rest}`, values));
  return rows as R[];
}
