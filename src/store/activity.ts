import { bytesToId, timeOfId } from '../domain/ids.ts';
import type { Database } from './database.ts';
import type { Reader } from './requests.ts';
import { selectInTime } from './timed-select.ts';
import { NEWEST_FIRST, scopeOf } from './window.ts';

export const MINUTE_MS = 60_000;

/** Entries that one count looks at, the newest of its time. */
const MAX_COUNTED = 100_000;

export interface Activity {
  /** Entries of each minute of the time, oldest first. */
  counts: number[];
  /** Unix milliseconds from which on every entry is counted; undefined when that is all of the time. */
  countedFrom: number | undefined;
}

/** Counts entries of a user's endpoint by the minute, from `since` on; ids have times, so it reads only an index. */
export async function countByMinute(
  db: Database,
  reader: Reader,
  endpointId: string,
  { since, minutes }: { since: number; minutes: number },
): Promise<Activity> {
  const time = { since, until: since + minutes * MINUTE_MS, headers: [], json: [] };
  const { owner, from, below } = scopeOf(db, reader, endpointId, time, NEWEST_FIRST);
  const rows = await selectInTime<{ minute: number; n: number; oldest: Buffer }>(
    db.pool,
    `FLOOR(CONV(HEX(LEFT(id, 6)), 16, 10) / ${MINUTE_MS}) AS minute, COUNT(*) AS n, MIN(id) AS oldest
     FROM (SELECT requests.id FROM endpoints JOIN requests FORCE INDEX (requests_endpoint_id)
       ON requests.endpoint_id = endpoints.id
       WHERE endpoints.user_id = ? AND endpoints.id = ? AND requests.id >= ? AND requests.id < ?
       ORDER BY requests.id DESC LIMIT ?) AS newest
     GROUP BY minute ORDER BY minute`,
    [...owner, from, below, MAX_COUNTED + 1],
  );
  const counts = Array.from({ length: minutes }, () => 0);
  const indexOf = (minute: number): number => minute - since / MINUTE_MS;
  for (const { minute, n } of rows) counts[indexOf(minute)] = n;
  const [first] = rows;
  if (first === undefined || rows.reduce((sum, { n }) => sum + n, 0) <= MAX_COUNTED)
    return { counts, countedFrom: undefined };
  // The oldest one is beyond the bound, and others of its millisecond may be.
  counts[indexOf(first.minute)] = first.n - 1;
  return { counts, countedFrom: timeOfId(bytesToId(first.oldest)) + 1 };
}
