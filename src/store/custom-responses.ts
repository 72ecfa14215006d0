import type { Knex } from 'knex';
import type { CustomResponseRecord } from '../domain/answers.ts';
import { decodeResponse, encodeResponse, type CustomResponse } from '../domain/custom-response.ts';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import { userKey } from './users.ts';

/** The response of a user's endpoint, null for the receipt; undefined when there is no such endpoint. */
export async function findResponse(db: Knex, userId: string, id: string): Promise<CustomResponse | null | undefined> {
  const row = await db('endpoints').where(keyOf(userId, id)).first<{ response: string | null } | undefined>('response');
  return row === undefined ? undefined : responseOf(row.response);
}

interface ResponseRow {
  id: Buffer;
  expires_at: Date | null;
  response: string | null;
  response_version: number;
}

export interface EndpointWithResponse {
  id: string;
  userId: string;
  expiresAt: Date | null;
  /** In place of the receipt; null = the receipt. */
  response: CustomResponse | null;
  /** Grows with each change of `response`. */
  responseVersion: number;
}

/**
 * Changes the response of a user's endpoint under the lock on its row, so concurrent changes have versions one after
 * the other. `beforeCommit` is called under the lock, too. Returns the new state, undefined when there is no such
 * endpoint.
 */
export async function changeResponse(
  db: Knex,
  userId: string,
  id: string,
  response: CustomResponse | null,
  beforeCommit: (before: EndpointWithResponse) => Promise<void>,
): Promise<EndpointWithResponse | undefined> {
  return db.transaction(async (trx) => {
    const row = await trx('endpoints')
      .where(keyOf(userId, id))
      .forUpdate()
      .first<ResponseRow | undefined>('id', 'expires_at', 'response', 'response_version');
    if (row === undefined) return undefined;
    const before: EndpointWithResponse = {
      id: bytesToId(row.id),
      userId,
      expiresAt: row.expires_at,
      response: responseOf(row.response),
      responseVersion: row.response_version,
    };
    await trx('endpoints')
      .where(keyOf(userId, id))
      .update({
        response: response === null ? null : JSON.stringify(encodeResponse(response)),
        response_version: before.responseVersion + 1,
      });
    await beforeCommit(before);
    return { ...before, response, responseVersion: before.responseVersion + 1 };
  });
}

export function responseOf(json: string | null): CustomResponse | null {
  return json === null ? null : decodeResponse(JSON.parse(json) as CustomResponseRecord);
}

function keyOf(userId: string, id: string): { id: Buffer; user_id: Buffer } {
  return { id: idToBytes(id), user_id: userKey(userId) };
}
