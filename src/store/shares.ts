import type { Knex } from 'knex';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import type { Share } from '../domain/share.ts';
import { userIdOf, userKey } from './users.ts';

/** Live links of one endpoint, those to its entries included. */
export const MAX_SHARES = 20;

/** Rows of one endpoint: the oldest links that have ended go first. */
const MAX_ROWS = 100;

interface ShareRow {
  id: Buffer;
  token_hash: Buffer;
  user_id: Buffer;
  endpoint_id: Buffer;
  request_id: Buffer | null;
  redact: number;
  label: string | null;
  covers_until: Date | null;
  expires_at: Date;
  created_at: Date;
}

/** A link with the plan of its owner, found by its token. */
export interface KnownShare {
  share: Share;
  plan: string;
}

export class TooManyShares extends Error {}

/**
 * Adds a link under the lock of its endpoint, so that concurrent ones cannot exceed the number, and nothing is shared
 * that is being deleted. Returns false when the user has no such endpoint or entry.
 * @throws TooManyShares
 */
export async function insertShare(db: Knex, share: Share, tokenHash: Buffer): Promise<boolean> {
  return db.transaction(async (trx) => {
    const endpoint = { id: idToBytes(share.endpointId), user_id: userKey(share.userId) };
    if ((await trx('endpoints').where(endpoint).forUpdate().first('id')) === undefined) return false;
    if (share.requestId !== null && !(await hasEntry(trx, share, share.requestId))) return false;
    const rows = await ofEndpoint(trx, share.userId, share.endpointId)
      .orderBy('expires_at', 'desc')
      .select<Pick<ShareRow, 'id' | 'expires_at'>[]>('id', 'expires_at');
    if (rows.filter(({ expires_at }) => expires_at > share.createdAt).length >= MAX_SHARES) throw new TooManyShares();
    const surplus = rows.slice(MAX_ROWS - 1).map(({ id }) => id);
    if (surplus.length > 0) await ofEndpoint(trx, share.userId, share.endpointId).whereIn('id', surplus).delete();
    await trx('shares').insert(rowOf(share, tokenHash));
    return true;
  });
}

/** Live links of a user's endpoint, those to its entries included, or of one entry; newest first. */
export async function listShares(
  db: Knex,
  userId: string,
  of: { endpointId: string; requestId?: string },
  now: Date,
): Promise<Share[]> {
  const rows = await ofEndpoint(db, userId, of.endpointId)
    .modify((query) => {
      if (of.requestId !== undefined) void query.andWhere('request_id', idToBytes(of.requestId));
    })
    .andWhere('expires_at', '>', now)
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(MAX_SHARES)
    .select<ShareRow[]>('*');
  return rows.map(shareOf);
}

/** Ends a user's live link; returns whether there was one. */
export async function endShare(db: Knex, userId: string, id: string, now: Date): Promise<boolean> {
  const ended = await db('shares')
    .where({ id: idToBytes(id), user_id: userKey(userId) })
    .andWhere('expires_at', '>', now)
    .update({ expires_at: now });
  return ended > 0;
}

/** Links by the hash of their token, in hex; live or ended, but not without their endpoint. */
export async function findShares(db: Knex, hashes: readonly string[]): Promise<Map<string, KnownShare>> {
  const rows = await db('shares')
    .join('endpoints', (on) => {
      on.on('endpoints.id', 'shares.endpoint_id').andOn('endpoints.user_id', 'shares.user_id');
    })
    .join('users', 'users.id', 'shares.user_id')
    .whereIn(
      'shares.token_hash',
      hashes.map((hash) => Buffer.from(hash, 'hex')),
    )
    .select<(ShareRow & { plan: string })[]>('shares.*', 'users.plan');
  return new Map(rows.map((row) => [row.token_hash.toString('hex'), { share: shareOf(row), plan: row.plan }]));
}

function ofEndpoint(db: Knex, userId: string, endpointId: string): Knex.QueryBuilder {
  return db('shares').where({ endpoint_id: idToBytes(endpointId), user_id: userKey(userId) });
}

async function hasEntry(trx: Knex, { userId, endpointId }: Share, requestId: string): Promise<boolean> {
  const entry = await trx('requests')
    .join('endpoints', 'endpoints.id', 'requests.endpoint_id')
    .where({ 'requests.id': idToBytes(requestId), 'endpoints.id': idToBytes(endpointId) })
    .andWhere('endpoints.user_id', userKey(userId))
    .first('requests.id');
  return entry !== undefined;
}

function rowOf(share: Share, tokenHash: Buffer): ShareRow {
  return {
    id: idToBytes(share.id),
    token_hash: tokenHash,
    user_id: userKey(share.userId),
    endpoint_id: idToBytes(share.endpointId),
    request_id: share.requestId === null ? null : idToBytes(share.requestId),
    redact: share.redact ? 1 : 0,
    label: share.label,
    covers_until: share.until === null ? null : new Date(share.until),
    expires_at: share.expiresAt,
    created_at: share.createdAt,
  };
}

function shareOf(row: ShareRow): Share {
  return {
    id: bytesToId(row.id),
    userId: userIdOf(row.user_id),
    endpointId: bytesToId(row.endpoint_id),
    requestId: row.request_id === null ? null : bytesToId(row.request_id),
    redact: row.redact === 1,
    label: row.label,
    until: row.covers_until === null ? null : row.covers_until.getTime(),
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  };
}
