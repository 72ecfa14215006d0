import type { Redis } from 'ioredis';
import type { CustomResponseRecord } from '../domain/answers.ts';
import { decodeResponse, encodeResponse } from '../domain/custom-response.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { EndpointWithResponse } from '../store/custom-responses.ts';
import { isTombstone } from './announcements.ts';
import type { CachedEndpoint } from './process-copies.ts';

/*
 * The database decides on an endpoint's response, and the endpoint's record in Redis has a copy with its version, which
 * grows with each change. A change marks the record under the lock on the endpoint's row, before the commit: until a
 * look-up or the change itself has written the new version, look-ups ask the database. So a process that dies in
 * between leaves no stale response; while the database is unreachable, the older one is sent.
 */

/** An endpoint in Redis; its owner's plan has a key of its own, because it changes separately. */
export interface EndpointRecord {
  id: string;
  userId: string;
  expiresAt: number | null;
  response?: CustomResponseRecord | null;
  /** Missing where the response is not known, as in records of versions before it: the database is asked. */
  responseVersion?: number;
  /** A change is under way, or its process has died: `version` is in the database soon, or never. */
  change?: { version: number; until: number };
}

/** An expired endpoint stays in Redis for this time, so captures get their 410 without a look-up. */
const KEEP_AFTER_EXPIRY_MS = 48 * HOUR_MS;

/** Far longer than a transaction of the database may take: its outcome is certain after this. */
const CHANGE_MS = 60_000;

/** Each attempt fails only if another process has changed the record meanwhile. */
const MAX_ATTEMPTS = 10;

const REPLACE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1`;

export function parseRecord(json: string): EndpointRecord {
  return JSON.parse(json) as EndpointRecord;
}

export function recordOf({ id, userId, expiresAt, response, responseVersion }: EndpointWithResponse): EndpointRecord {
  return {
    id,
    userId,
    expiresAt: expiresAt?.getTime() ?? null,
    response: response === null ? null : encodeResponse(response),
    responseVersion,
  };
}

export function endpointOf({ id, userId, expiresAt, response = null }: EndpointRecord): CachedEndpoint {
  return { id, userId, expiresAt, response: response === null ? null : decodeResponse(response) };
}

export function isSettled({ responseVersion, change }: EndpointRecord): boolean {
  return responseVersion !== undefined && change === undefined;
}

export async function addRecord(redis: Redis, key: string, record: EndpointRecord, forMs = Infinity): Promise<boolean> {
  const untilEnd = record.expiresAt === null ? Infinity : Math.max(0, record.expiresAt - Date.now());
  const keepMs = Math.min(forMs, untilEnd + KEEP_AFTER_EXPIRY_MS);
  const json = JSON.stringify(record);
  const done = await (keepMs === Infinity ? redis.set(key, json, 'NX') : redis.set(key, json, 'PX', keepMs, 'NX'));
  return done !== null;
}

/** Copies what the database has, unless Redis has a newer response, or the endpoint is deleted. */
export async function fillRecord(redis: Redis, key: string, target: EndpointWithResponse): Promise<void> {
  const known = recordOf(target);
  await updateRecord(redis, key, (current) => merge(current, known));
}

/** Returns whether Redis has confirmed the mark: otherwise the change must not be committed. */
export function beginResponseChange(redis: Redis, key: string, before: EndpointWithResponse): Promise<boolean> {
  const known = recordOf(before);
  const change = { version: before.responseVersion + 1, until: Date.now() + CHANGE_MS };
  return updateRecord(redis, key, (current) => ({ ...merge(current, known), change }));
}

/** The newer response; a mark stays until its version is there, or will never be. */
function merge(current: EndpointRecord | undefined, known: EndpointRecord): EndpointRecord {
  if (current === undefined) return known;
  const isNewer = (known.responseVersion ?? 0) > (current.responseVersion ?? -1);
  const { change, ...newest } = isNewer ? { ...known, change: current.change } : current;
  const isOver = change === undefined || change.version <= (newest.responseVersion ?? 0) || change.until <= Date.now();
  return isOver ? newest : { ...newest, change };
}

/** A delete's tombstone stays as it is. Returns whether Redis has what `update` returned. */
async function updateRecord(
  redis: Redis,
  key: string,
  update: (current: EndpointRecord | undefined) => EndpointRecord,
): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const value = await redis.get(key);
    if (value !== null && isTombstone(value)) return true;
    const record = update(value === null ? undefined : parseRecord(value));
    const json = JSON.stringify(record);
    if (json === value) return true;
    const done =
      value === null ? await addRecord(redis, key, record) : (await redis.eval(REPLACE, 1, key, value, json)) === 1;
    if (done) return true;
  }
  return false;
}
