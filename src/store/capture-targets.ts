import type { Knex } from 'knex';
import { bytesToId, idToBytes, isUuid } from '../domain/ids.ts';
import { responseOf, type EndpointWithResponse } from './custom-responses.ts';
import { userIdOf } from './users.ts';

/** What a capture has to know of its endpoint. */
export interface CaptureTarget extends EndpointWithResponse {
  plan: string;
}

/** One statement answers many look-ups, so that scans of random addresses do not occupy the connections. */
export async function findCaptureTargets(db: Knex, keys: readonly string[]): Promise<Map<string, CaptureTarget>> {
  const [ids, aliases] = [keys.filter(isUuid), keys.filter((key) => !isUuid(key))];
  const byId = ids.length === 0 ? [] : await targetRows(db).whereIn('endpoints.id', ids.map(idToBytes));
  const byAlias = aliases.length === 0 ? [] : await targetRows(db).whereIn('endpoints.alias', aliases);
  return new Map([
    ...byId.map((row) => [bytesToId(row.id), targetOf(row)] as const),
    ...byAlias.map((row) => [row.alias as string, targetOf(row)] as const),
  ]);
}

interface TargetRow {
  id: Buffer;
  alias: string | null;
  user_id: Buffer;
  expires_at: Date | null;
  plan: string;
  response: string | null;
  response_version: number;
}

function targetRows(db: Knex): Knex.QueryBuilder<object, TargetRow[]> {
  return db('endpoints')
    .join('users', 'users.id', 'endpoints.user_id')
    .select<TargetRow[]>(
      'endpoints.id',
      'endpoints.alias',
      'endpoints.user_id',
      'endpoints.expires_at',
      'endpoints.response',
      'endpoints.response_version',
      'users.plan',
    );
}

function targetOf(row: TargetRow): CaptureTarget {
  return {
    id: bytesToId(row.id),
    userId: userIdOf(row.user_id),
    plan: row.plan,
    expiresAt: row.expires_at,
    response: responseOf(row.response),
    responseVersion: row.response_version,
  };
}
