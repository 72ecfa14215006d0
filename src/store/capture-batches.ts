import type { Pool, QueryResult, RowDataPacket } from 'mysql2/promise';
import type { DecodedCapture } from '../domain/capture-job.ts';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import type { Connection } from './database.ts';
import { userKey } from './users.ts';

/*
 * A transaction of batches takes three round trips: its beginning, a prepared INSERT for each 64 rows (so bodies are
 * sent as bytes), and its end.
 */

export interface NumberedCapture extends DecodedCapture {
  seq: number;
}

const INSERT_MAX_ROWS = 64;

const INSERT_MAX_BYTES = 4 * 1024 * 1024;

const ROW = '(?,?,?,?,?,?,?,?,?,?)';
const INSERT =
  'INSERT INTO requests (id, endpoint_id, seq, method, target, raw_headers, ip, size, is_utf8, body) VALUES ';

interface Statement {
  sql: string;
  values: unknown[];
}

/**
 * Begins a transaction, notes the batches in the ledger, and locks the endpoints as `lockEndpoints` does.
 * @param connection of a database that was opened with `joinedStatements`
 * @throws a duplicate-key error when one of the batches is stored already
 */
export async function beginBatches(
  connection: Connection,
  batchIds: readonly string[],
  endpointIds: readonly string[],
): Promise<Map<string, number>> {
  const results = await runJoined(connection, [
    { sql: 'START TRANSACTION', values: [] },
    { sql: 'INSERT INTO capture_batches (id) VALUES ?', values: [batchIds.map((id) => [idToBytes(id)])] },
    lockOf(endpointIds),
  ]);
  return countsOf(results.at(-1) as RowDataPacket[]);
}

/** Adds to counters and usage, and commits. */
export async function commitBatches(
  connection: Connection,
  added: ReadonlyMap<string, Addition>,
  usage: readonly Usage[],
): Promise<void> {
  const counters = added.size === 0 ? [] : [additionOf(added)];
  await runJoined(connection, [...counters, usageOf(usage), { sql: 'COMMIT', values: [] }]);
}

async function runJoined(connection: Connection, statements: readonly Statement[]): Promise<QueryResult[]> {
  const sql = statements.map((statement) => statement.sql).join(';\n');
  const [results] = await connection.query(
    sql,
    statements.flatMap(({ values }) => values),
  );
  return results as QueryResult[];
}

export async function findStoredBatches(
  connection: Pool | Connection,
  batchIds: readonly string[],
): Promise<Set<string>> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT id FROM capture_batches WHERE id IN (?)', [
    batchIds.map(idToBytes),
  ]);
  return new Set(rows.map((row) => bytesToId(row['id'] as Buffer)));
}

/** The sequence numbers of those captures that are still stored. */
export async function findSequence(pool: Pool, captureIds: readonly string[]): Promise<Map<string, number>> {
  const [rows] = await pool.query<RowDataPacket[]>('SELECT id, seq FROM requests WHERE id IN (?)', [
    captureIds.map(idToBytes),
  ]);
  return new Map(rows.map((row) => [bytesToId(row['id'] as Buffer), row['seq'] as number]));
}

export async function isStored(connection: Connection, id: string): Promise<boolean> {
  const [rows] = await connection.query<RowDataPacket[]>('SELECT id FROM requests WHERE id = ?', [idToBytes(id)]);
  return rows.length > 0;
}

/** Locks in key order, until the transaction ends. Returns how many captures each has had; deleted ones are missing. */
export async function lockEndpoints(
  connection: Connection,
  endpointIds: readonly string[],
): Promise<Map<string, number>> {
  const { sql, values } = lockOf(endpointIds);
  const [rows] = await connection.query<RowDataPacket[]>(sql, values);
  return countsOf(rows);
}

function lockOf(endpointIds: readonly string[]): Statement {
  return {
    sql: 'SELECT id, request_count FROM endpoints FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR UPDATE',
    values: [endpointIds.toSorted().map(idToBytes)],
  };
}

function countsOf(rows: RowDataPacket[]): Map<string, number> {
  return new Map(rows.map((row) => [bytesToId(row['id'] as Buffer), row['request_count'] as number]));
}

/** @throws the database's refusal of one of the rows; it does not name the row */
export async function insertRequests(connection: Connection, captures: readonly NumberedCapture[]): Promise<void> {
  for (let start = 0; start < captures.length;) {
    const size = insertSize(captures, start);
    const values = captures.slice(start, start + size).flatMap(rowOf);
    await connection.execute(insertOf(size), values);
    start += size;
  }
}

export interface Addition {
  count: number;
  lastAt: Date;
}

export interface Usage {
  userId: string;
  /** UTC day, `YYYY-MM-DD`. */
  day: string;
  count: number;
}

/** Adds to the counters of locked endpoints, in one statement for all of them. */
export async function addToCounters(connection: Connection, added: ReadonlyMap<string, Addition>): Promise<void> {
  if (added.size === 0) return;
  const { sql, values } = additionOf(added);
  await connection.query(sql, values);
}

function additionOf(added: ReadonlyMap<string, Addition>): Statement {
  const entries = [...added].map(([endpointId, addition]) => ({ id: idToBytes(endpointId), ...addition }));
  // By primary key only: with a join, or without the hint, the server scans a small table and waits for foreign rows,
  // out of order.
  const counts = `CASE id ${'WHEN ? THEN ? '.repeat(entries.length)}END`;
  const instants = `CAST(CASE id ${'WHEN ? THEN ? '.repeat(entries.length)}END AS DATETIME(3))`;
  const countValues = entries.flatMap(({ id, count }) => [id, count]);
  const instantValues = entries.flatMap(({ id, lastAt }) => [id, lastAt]);
  return {
    sql: `UPDATE endpoints FORCE INDEX (PRIMARY) SET request_count = request_count + ${counts}, stored_count = stored_count + ${counts},
       last_request_at = GREATEST(COALESCE(last_request_at, ${instants}), ${instants}), updated_at = GREATEST(updated_at, ${instants})
     WHERE id IN (?)`,
    values: [
      ...countValues,
      ...countValues,
      ...instantValues,
      ...instantValues,
      ...instantValues,
      entries.map(({ id }) => id),
    ],
  };
}

function usageOf(usage: readonly Usage[]): Statement {
  const sorted = usage.toSorted((a, b) =>
    a.userId < b.userId ? -1 : a.userId > b.userId ? 1 : a.day < b.day ? -1 : 1,
  );
  return {
    sql: 'INSERT INTO daily_usage (user_id, day, accepted) VALUES ? ON DUPLICATE KEY UPDATE accepted = accepted + VALUES(accepted)',
    values: [sorted.map(({ userId, day, count }) => [userKey(userId), day, count])],
  };
}

function rowOf(capture: NumberedCapture): (string | number | Buffer)[] {
  return [
    idToBytes(capture.id),
    idToBytes(capture.endpointId),
    capture.seq,
    capture.method,
    capture.target,
    JSON.stringify(capture.rawHeaders),
    capture.ip,
    capture.body.length,
    capture.isUtf8 ? 1 : 0,
    capture.body,
  ];
}

/** A statement for each number of rows; a connection prepares those that it meets once. */
const inserts = new Map<number, string>();

function insertOf(rows: number): string {
  const known = inserts.get(rows);
  if (known !== undefined) return known;
  const sql = INSERT + Array<string>(rows).fill(ROW).join(',');
  inserts.set(rows, sql);
  return sql;
}

/** How many of the remaining rows one statement holds. */
function insertSize(captures: readonly NumberedCapture[], start: number): number {
  let rows = 0;
  let bytes = 0;
  while (rows < INSERT_MAX_ROWS && start + rows < captures.length) {
    bytes += rowSize(captures[start + rows] as NumberedCapture);
    if (rows > 0 && bytes > INSERT_MAX_BYTES) break;
    rows += 1;
  }
  return rows;
}

/** Maximum number of bytes of a row in a statement: JSON may double the header list. */
function rowSize({ body, target, rawHeaders }: NumberedCapture): number {
  return 200 + body.length + target.length + rawHeaders.reduce((sum, text) => sum + 2 * text.length + 3, 0);
}
