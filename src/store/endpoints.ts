import type { Knex } from 'knex';
import { conflict, forbidden } from '../errors.ts';
import type { EndpointRow } from '../domain/endpoint.ts';
import type { Plan } from '../plans.ts';
import { bytesToId, idToBytes } from '../domain/ids.ts';
import { isDuplicateKey } from './sql-errors.ts';
import { savePlan, userKey } from './users.ts';

export interface NewEndpoint {
  id: string;
  userId: string;
  alias: string | null;
  permanent: boolean;
  expiresAt: Date | null;
  now: Date;
  plan: Plan;
}

/** What the capture path has to know of an endpoint. */
export interface CaptureTarget {
  id: string;
  userId: string;
  plan: string;
  expiresAt: Date | null;
}

/**
 * Creates an endpoint. Saving the plan locks the user's row until the end, so that
 * concurrent creates can't pass the plan's number together.
 *
 * @throws HttpError 403 over the plan's number of permanent endpoints, 409 when the alias is taken
 */
export async function insertEndpoint(db: Knex, endpoint: NewEndpoint): Promise<EndpointRow> {
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
      await savePlan(trx, userId, plan.name, now);
      if (permanent && plan.permanentEndpoints !== null) await checkPermanent(trx, userId, plan.permanentEndpoints);
      await trx('endpoints').insert(row);
    });
  } catch (error) {
    if (isDuplicateKey(error)) throw conflict(`The alias "${alias}" is taken`);
    throw error;
  }
  return row;
}

async function checkPermanent(trx: Knex.Transaction, userId: string, max: number): Promise<void> {
  const [row] = await trx('endpoints').where({ user_id: userKey(userId), is_permanent: 1 }).count<{ n: number }[]>({ n: '*' });
  if (Number(row?.n) >= max) throw forbidden(`Your plan allows ${max} permanent endpoints, and you have ${row?.n}`);
}

/** A user's endpoints that have not expired, newest first. */
export async function listEndpoints(db: Knex, userId: string, now: Date): Promise<EndpointRow[]> {
  return db<EndpointRow>('endpoints')
    .where('user_id', userKey(userId))
    .andWhere((where) => {
      void where.whereNull('expires_at').orWhere('expires_at', '>', now);
    })
    .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'id', order: 'desc' }])
    .select('*');
}

/** A user's endpoint, expired or not; undefined when there is none or it is somebody else's. */
export async function findEndpoint(db: Knex, userId: string, id: string): Promise<EndpointRow | undefined> {
  return db<EndpointRow>('endpoints').where({ id: idToBytes(id), user_id: userKey(userId) }).first();
}

/**
 * Removes a user's endpoint at once and leaves a note that its entries have to be purged.
 * Returns whether there was one.
 */
export async function removeEndpoint(db: Knex, userId: string, id: string, now: Date): Promise<boolean> {
  return db.transaction(async (trx) => {
    const removed = await trx('endpoints').where({ id: idToBytes(id), user_id: userKey(userId) }).delete();
    if (removed > 0) await trx('purges').insert({ endpoint_id: idToBytes(id), created_at: now });
    return removed > 0;
  });
}

/** The endpoint behind a public URL, by `id` or `alias`, with its owner's plan. */
export async function findCaptureTarget(db: Knex, key: { id: string } | { alias: string }): Promise<CaptureTarget | undefined> {
  const row = await db('endpoints')
    .join('users', 'users.id', 'endpoints.user_id')
    .where('id' in key ? { 'endpoints.id': idToBytes(key.id) } : { 'endpoints.alias': key.alias })
    .first<{ id: Buffer; user_id: Buffer; expires_at: Date | null; plan: string } | undefined>(
      'endpoints.id as id',
      'endpoints.user_id as user_id',
      'endpoints.expires_at as expires_at',
      'users.plan as plan',
    );
  if (row === undefined) return undefined;
  return { id: bytesToId(row.id), userId: row.user_id.toString('utf8'), plan: row.plan, expiresAt: row.expires_at };
}
