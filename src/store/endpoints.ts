import type { Knex } from 'knex';
import { OutcomeUnknown } from '../deadline.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import type { Plan } from '../plans.ts';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import { isDuplicateKey } from './sql-errors.ts';
import { lockUser, userIdOf, userKey } from './users.ts';

interface EndpointRow {
  id: Buffer;
  user_id: Buffer;
  alias: string | null;
  is_permanent: number;
  expires_at: Date | null;
  request_count: number;
  stored_count: number;
  last_request_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

interface FoundRow extends EndpointRow {
  has_response: number;
}

/** All but the custom response, which is read where it is needed only: here, whether there is one. */
const COLUMNS = [
  'id',
  'user_id',
  'alias',
  'is_permanent',
  'expires_at',
  'request_count',
  'stored_count',
  'last_request_at',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof EndpointRow)[];

export interface NewEndpoint {
  id: string;
  userId: string;
  alias: string | null;
  permanent: boolean;
  expiresAt: Date | null;
  now: Date;
  plan: Plan;
}

/** The alias (which is the message) is taken. */
export class AliasTaken extends Error {}

export class TooManyEndpoints extends Error {
  readonly max: number;
  readonly held: number;
  readonly kind: 'endpoints' | 'permanent endpoints';

  constructor(kind: TooManyEndpoints['kind'], max: number, held: number) {
    super(`${held} ${kind} of ${max}`);
    this.kind = kind;
    this.max = max;
    this.held = held;
  }
}

/** Locks the user's row, so concurrent creates cannot exceed the plan. Throws TooManyEndpoints or AliasTaken. */
export async function insertEndpoint(db: Knex, endpoint: NewEndpoint): Promise<Endpoint> {
  const { id, userId, alias, permanent, expiresAt, now, plan } = endpoint;
  const row: EndpointRow = {
    id: idToBytes(id),
    user_id: userKey(userId),
    alias,
    is_permanent: permanent ? 1 : 0,
    expires_at: expiresAt,
    request_count: 0,
    stored_count: 0,
    last_request_at: null,
    created_at: now,
    updated_at: now,
  };
  try {
    await db.transaction(async (trx) => {
      await lockUser(trx, userId, plan.name, now);
      await checkNumber(plan.endpoints, 'endpoints', () => countEndpoints(trx, userId, now));
      if (permanent)
        await checkNumber(plan.permanentEndpoints, 'permanent endpoints', () => countPermanent(trx, userId));
      await trx('endpoints').insert(row);
    });
  } catch (error) {
    if (isDuplicateKey(error)) throw new AliasTaken(alias ?? '');
    throw error;
  }
  return endpointOf({ ...row, has_response: 0 });
}

async function checkNumber(
  max: number | null,
  kind: TooManyEndpoints['kind'],
  count: () => Promise<number>,
): Promise<void> {
  if (max === null) return;
  const held = await count();
  if (held >= max) throw new TooManyEndpoints(kind, max, held);
}

async function countPermanent(db: Knex, userId: string): Promise<number> {
  // Permanent endpoints have no expiry, so they are adjacent in the index of (user_id, expires_at).
  const permanent = { user_id: userKey(userId), expires_at: null, is_permanent: 1 };
  const [row] = await db('endpoints').where(permanent).count<{ n: number }[]>({ n: '*' });
  return Number(row?.n);
}

/** The number of a user's endpoints that have not expired; reads only the index of (user_id, expires_at). */
export async function countEndpoints(db: Knex, userId: string, now: Date): Promise<number> {
  const [row] = await unexpired(db, userId, now).count<{ n: number }[]>({ n: '*' });
  return Number(row?.n);
}

/** A page of a user's endpoints; with `before` (an endpoint's id) only those after it in the list. */
export interface EndpointPage {
  limit: number;
  offset: number;
  before?: string | undefined;
}

/**
 * A user's endpoints that have not expired, newest first; undefined when `before` is not one of them. Names the index,
 * because with another one each page would sort all of them.
 */
export async function listEndpoints(
  db: Knex,
  userId: string,
  now: Date,
  { limit, offset, before }: EndpointPage,
): Promise<Endpoint[] | undefined> {
  const last = before === undefined ? undefined : await findRow(db, userId, before);
  if (before !== undefined && last === undefined) return undefined;
  const rows = await unexpired(db, userId, now, db.raw('endpoints FORCE INDEX (endpoints_user)'))
    .modify((query) => {
      if (last !== undefined) {
        void query.andWhere('created_at', '<=', last.created_at).andWhere((where) => {
          void where.where('created_at', '<', last.created_at).orWhere('id', '<', last.id);
        });
      }
    })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit)
    .offset(offset)
    .select<FoundRow[]>(...COLUMNS, hasResponse(db));
  return rows.map(endpointOf);
}

function unexpired(db: Knex, userId: string, now: Date, table: string | Knex.Raw = 'endpoints'): Knex.QueryBuilder {
  return db(table as string)
    .where('user_id', userKey(userId))
    .andWhere((where) => {
      void where.whereNull('expires_at').orWhere('expires_at', '>', now);
    });
}

/** A user's endpoint, expired or not; undefined when there is none or it belongs to another user. */
export async function findEndpoint(db: Knex, userId: string, id: string): Promise<Endpoint | undefined> {
  const row = await findRow(db, userId, id);
  return row === undefined ? undefined : endpointOf(row);
}

async function findRow(db: Knex, userId: string, id: string): Promise<FoundRow | undefined> {
  return db('endpoints')
    .where({ id: idToBytes(id), user_id: userKey(userId) })
    .first<FoundRow | undefined>(...COLUMNS, hasResponse(db));
}

function hasResponse(db: Knex): Knex.Raw {
  return db.raw('response IS NOT NULL AS has_response');
}

/**
 * Removes a user's endpoint and adds a row to `purges` for its entries. Returns whether there was one.
 * @throws OutcomeUnknown when the answer to the COMMIT is missing and the database is unreachable; after any other
 *   error the endpoint still exists
 */
export async function removeEndpoint(db: Knex, userId: string, id: string, now: Date): Promise<boolean> {
  const key = { id: idToBytes(id), user_id: userKey(userId) };
  let committing = false;
  try {
    return await db.transaction(async (trx) => {
      const removed = await trx('endpoints').where(key).delete();
      if (removed > 0) await trx('purges').insert({ endpoint_id: key.id, created_at: now });
      committing = true;
      return removed > 0;
    });
  } catch (error) {
    if (!committing) throw error;
    // With a lock, so that the query waits for a commit that is still running.
    const left = await db('endpoints')
      .where(key)
      .forUpdate()
      .first('id')
      .catch((cause: unknown) => {
        throw new OutcomeUnknown('whether the endpoint is deleted is unknown', { cause });
      });
    if (left !== undefined) throw error;
    return true;
  }
}

function endpointOf(row: FoundRow): Endpoint {
  return {
    id: bytesToId(row.id),
    userId: userIdOf(row.user_id),
    alias: row.alias,
    isPermanent: row.is_permanent === 1,
    expiresAt: row.expires_at,
    requestCount: row.request_count,
    storedCount: row.stored_count,
    lastRequestAt: row.last_request_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    hasResponse: row.has_response === 1,
  };
}
