import type { RowDataPacket } from 'mysql2/promise';
import type { Knex } from 'knex';
import { decodeCapture, encodeCapture, type DecodedCapture, type EncodedCapture } from '../domain/capture-job.ts';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import type { Connection } from './database.ts';
import { userKey } from './users.ts';

export interface RefusedCapture {
  capture: DecodedCapture;
  batchId: string;
  errorCode: string;
}

/** The fields of a dead letter that an operator sees; captured data is not among them. */
export interface DeadLetter {
  id: string;
  endpointId: string;
  userId: string;
  errorCode: string;
  refusedAt: Date;
  /** Bytes in the table; Base64 makes a body a third larger. */
  bytes: number;
}

/** Stores refused captures completely, so that an operator can replay them after the cause is fixed. */
export async function insertDeadLetters(
  connection: Connection,
  refused: readonly RefusedCapture[],
  now: Date,
): Promise<void> {
  for (const { capture, batchId, errorCode } of refused) {
    await connection.execute(
      // A capture may be refused again, in another batch.
      `INSERT INTO dead_letters (id, batch_id, endpoint_id, user_id, error_code, capture, created_at) VALUES (?,?,?,?,?,?,?)
       ON DUPLICATE KEY UPDATE batch_id = VALUES(batch_id), error_code = VALUES(error_code)`,
      [
        idToBytes(capture.id),
        idToBytes(batchId),
        idToBytes(capture.endpointId),
        userKey(capture.userId),
        storedCode(errorCode),
        Buffer.from(JSON.stringify(encodeCapture(capture))),
        now,
      ],
    );
  }
}

/** The first `limit` dead letters of all owners or of one endpoint, in order of arrival. */
export async function listDeadLetters(db: Knex, endpointId: string | undefined, limit: number): Promise<DeadLetter[]> {
  const columns = [
    'id',
    'endpoint_id',
    'user_id',
    'error_code',
    'created_at',
    db.raw('OCTET_LENGTH(capture) AS bytes'),
  ];
  const rows: ListedRow[] = await ofEndpoint(db, endpointId).orderBy('id').limit(limit).select(columns);
  return rows.map((row) => ({
    id: bytesToId(row.id),
    endpointId: bytesToId(row.endpoint_id),
    userId: row.user_id.toString('utf8'),
    errorCode: row.error_code,
    refusedAt: row.created_at,
    bytes: row.bytes,
  }));
}

export async function countDeadLetters(db: Knex, endpointId?: string): Promise<number> {
  const [row] = await ofEndpoint(db, endpointId).count<{ n: number }[]>({ n: '*' });
  return row?.n ?? 0;
}

/** Ids of the next dead letters in order of arrival; `after` is the last one of the previous call. */
export async function nextDeadLetters(db: Knex, after: string | undefined, limit: number): Promise<string[]> {
  const ids = await db('dead_letters')
    .modify((query) => {
      if (after !== undefined) void query.where('id', '>', idToBytes(after));
    })
    .orderBy('id')
    .limit(limit)
    .pluck('id');
  return ids.map((id) => bytesToId(id as Buffer));
}

/** The capture in a dead letter, locked until the transaction ends; undefined when there is none. */
export async function lockDeadLetter(connection: Connection, id: string): Promise<DecodedCapture | undefined> {
  const [[row]] = await connection.query<RowDataPacket[]>('SELECT capture FROM dead_letters WHERE id = ? FOR UPDATE', [
    idToBytes(id),
  ]);
  return row === undefined
    ? undefined
    : decodeCapture(JSON.parse((row['capture'] as Buffer).toString('utf8')) as EncodedCapture);
}

export async function removeDeadLetter(connection: Connection, id: string): Promise<void> {
  await connection.query('DELETE FROM dead_letters WHERE id = ?', [idToBytes(id)]);
}

/** Updates the error code of a dead letter that was refused again. */
export async function refuseAgain(connection: Connection, id: string, errorCode: string): Promise<void> {
  await connection.query('UPDATE dead_letters SET error_code = ? WHERE id = ?', [storedCode(errorCode), idToBytes(id)]);
}

/** Deletes dead letters with their captures. Returns how many there were. */
export async function discardDeadLetters(db: Knex, ids: readonly string[]): Promise<number> {
  return db('dead_letters').whereIn('id', ids.map(idToBytes)).delete();
}

interface ListedRow {
  id: Buffer;
  endpoint_id: Buffer;
  user_id: Buffer;
  error_code: string;
  created_at: Date;
  bytes: number;
}

function ofEndpoint(db: Knex, endpointId: string | undefined): Knex.QueryBuilder {
  return db('dead_letters').modify((query) => {
    if (endpointId !== undefined) void query.where('endpoint_id', idToBytes(endpointId));
  });
}

function storedCode(errorCode: string): string {
  return errorCode.slice(0, 64);
}
