import { createHash } from 'node:crypto';
import type { Pool } from 'mysql2/promise';
import { idToBytes } from '../../../src/domain/ids.ts';
import { DAY_MS } from '../../../src/domain/time.ts';

/** Days of retention with which nothing is due; each sweep makes a day's entries due. */
export const RETENTION_DAYS = 90;
/** Entries of each of the oldest days. */
export const DUE_A_DAY = 1_000;

export const BODY_BYTES = 1_024;

const ROWS_AT_ONCE = 10_000;
/** Between the cutoff of a round and the entries beside it: a run may take so long. */
const MARGIN_MS = DAY_MS / 4;

/** Entries `first` and later, as many as `count`, evenly from `start` on for `span` milliseconds. */
interface Stretch {
  first: number;
  count: number;
  start: number;
  span: number;
}

/** Stored entries: number n belongs to endpoint n modulo their number, and has a time and an id that grow with n. */
export interface Rows {
  endpoints: readonly string[];
  count: number;
  /** The first so many are there for retention. */
  due: number;
  idOf(n: number): string;
}

/**
 * Stores entries in the order of their ids, without API and worker.
 * @param days so many of the oldest days have `DUE_A_DAY` entries each; the later days have the others
 */
export async function storeRows(pool: Pool, endpoints: readonly string[], count: number, days: number): Promise<Rows> {
  const oldest = Date.now() - RETENTION_DAYS * DAY_MS;
  const stretches = Array.from({ length: days }, (_, day): Stretch => {
    const start = oldest + day * DAY_MS + MARGIN_MS;
    return { first: day * DUE_A_DAY, count: DUE_A_DAY, start, span: DAY_MS - 2 * MARGIN_MS };
  });
  const first = days * DUE_A_DAY;
  const start = oldest + days * DAY_MS + MARGIN_MS;
  stretches.push({ first, count: count - first, start, span: Date.now() - MARGIN_MS - start });

  await prepare(pool, endpoints);
  for (const stretch of stretches)
    for (let from = stretch.first; from < stretch.first + stretch.count; from += ROWS_AT_ONCE)
      await insert(pool, stretch, from, Math.min(ROWS_AT_ONCE, stretch.first + stretch.count - from), endpoints.length);
  await pool.query(
    `UPDATE endpoints JOIN (SELECT endpoint_id, COUNT(*) AS n FROM requests GROUP BY endpoint_id) AS stored
       ON stored.endpoint_id = endpoints.id
     SET request_count = n, stored_count = n, last_request_at = UTC_TIMESTAMP(3)`,
  );
  const idOf = (n: number): string => {
    const stretch = stretches.findLast((candidate) => candidate.first <= n) as Stretch;
    const ms = stretch.start + Math.floor(((n - stretch.first) * stretch.span) / stretch.count);
    const hash = createHash('md5').update(String(n)).digest('hex');
    const hex = ms.toString(16).padStart(12, '0');
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`;
  };
  return { endpoints, count, due: first, idOf };
}

/** With settings for a fast fill; then waits until all is written, which would go on beside the measurements. */
export async function filling<T>(pool: Pool, fill: () => Promise<T>): Promise<T> {
  await pool.query('SET GLOBAL innodb_flush_log_at_trx_commit = 0');
  await pool.query('SET GLOBAL innodb_io_capacity_max = 20000');
  await pool.query('SET GLOBAL innodb_io_capacity = 20000');
  const filled = await fill();
  await pool.query('SET GLOBAL innodb_max_dirty_pages_pct = 0');
  for (;;) {
    const [rows] = await pool.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'");
    if (Number((rows as { Value: string }[])[0]?.Value) < 50) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await pool.query('SET GLOBAL innodb_max_dirty_pages_pct = DEFAULT');
  await pool.query('SET GLOBAL innodb_io_capacity = 200');
  await pool.query('SET GLOBAL innodb_io_capacity_max = 2000');
  await pool.query('SET GLOBAL innodb_flush_log_at_trx_commit = 1');
  return filled;
}

/** Rows and pages that the database has read so far, the latter from the disk. */
export async function readSoFar(pool: Pool): Promise<{ rows: number; pages: number }> {
  const [status] = await pool.query(
    `SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_last',
       'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', 'Innodb_buffer_pool_reads')`,
  );
  let rows = 0;
  let pages = 0;
  for (const { Variable_name: name, Value } of status as { Variable_name: string; Value: string }[])
    if (name.startsWith('Handler')) rows += Number(Value);
    else pages += Number(Value);
  return { rows, pages };
}

async function prepare(pool: Pool, endpoints: readonly string[]): Promise<void> {
  await pool.query('CREATE TABLE fill_numbers (n INT NOT NULL PRIMARY KEY)');
  await pool.query('INSERT INTO fill_numbers VALUES ?', [Array.from({ length: ROWS_AT_ONCE }, (_, n) => [n])]);
  await pool.query('CREATE TABLE fill_endpoints (i INT NOT NULL PRIMARY KEY, id BINARY(16), target VARCHAR(64))');
  const rows = endpoints.map((id, i) => [i, idToBytes(id), `/h/${id}`]);
  await pool.query('INSERT INTO fill_endpoints VALUES ?', [rows]);
}

/** One of 16 entries is a PUT, by its number's hash; the others are POSTs. */
async function insert(
  pool: Pool,
  { first, count, start, span }: Stretch,
  from: number,
  rows: number,
  endpoints: number,
): Promise<void> {
  const ms = '? + ((n + ? - ?) * ?) DIV ?';
  await pool.query(
    `INSERT INTO requests (id, endpoint_id, seq, method, target, raw_headers, ip, size, is_utf8, body)
     SELECT UNHEX(CONCAT(LPAD(HEX(${ms}), 12, '0'), '7', LEFT(hash, 3), '8', SUBSTR(hash, 4, 15))),
       id, (n + ?) DIV ? + 1, IF(RIGHT(hash, 1) = '0', 'PUT', 'POST'), target, ?, '192.0.2.1', ?, 1,
       RPAD(CONCAT('{"delivery":"', hash, '","text":"'), ?, hash)
     FROM (SELECT n, MD5(n + ?) AS hash FROM fill_numbers WHERE n < ?) AS numbers
     JOIN fill_endpoints ON i = (n + ?) MOD ?
     ORDER BY n`,
    [start, from, first, span, count, from, endpoints, HEADERS, BODY_BYTES, BODY_BYTES, from, rows, from, endpoints],
  );
}

/** Those of a GitHub delivery. */
export const RAW_HEADERS = Object.entries({
  Host: 'hooks.example.com',
  'User-Agent': 'GitHub-Hookshot/044aadd',
  Accept: '*/*',
  'Content-Type': 'application/json',
  'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  'X-GitHub-Event': 'issues',
  'X-GitHub-Hook-ID': '292430182',
  'X-GitHub-Hook-Installation-Target-ID': '79929171',
  'X-GitHub-Hook-Installation-Target-Type': 'repository',
  'X-Hub-Signature': `sha1=${'7d'.repeat(20)}`,
  'X-Hub-Signature-256': `sha256=${'d5'.repeat(32)}`,
}).flat();

const HEADERS = JSON.stringify(RAW_HEADERS);
