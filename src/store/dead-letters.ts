import { encodeCapture, type DecodedCapture } from '../domain/capture-batch.ts';
import { idToBytes } from '../domain/ids.ts';
import type { Connection } from './database.ts';
import { userKey } from './users.ts';

/** A capture that the database refused, and the driver's code for why. */
export interface RefusedCapture {
  capture: DecodedCapture;
  batchId: string;
  errorCode: string;
}

/** Keeps refused captures whole, so that an operator can replay them once the cause is gone. */
export async function insertDeadLetters(connection: Connection, refused: readonly RefusedCapture[], now: Date): Promise<void> {
  for (const { capture, batchId, errorCode } of refused) {
    await connection.execute(
      // A replayed capture may be refused again, under another batch.
      `INSERT INTO dead_letters (id, batch_id, endpoint_id, user_id, error_code, capture, created_at) VALUES (?,?,?,?,?,?,?)
       ON DUPLICATE KEY UPDATE batch_id = VALUES(batch_id), error_code = VALUES(error_code)`,
      [
        idToBytes(capture.id),
        idToBytes(batchId),
        idToBytes(capture.endpointId),
        userKey(capture.userId),
        errorCode.slice(0, 64),
        Buffer.from(JSON.stringify(encodeCapture(capture))),
        now,
      ],
    );
  }
}
