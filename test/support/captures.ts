import type { DecodedCapture } from '../../src/domain/capture-job.ts';
import type { Knex } from 'knex';
import { newEndpointId, newTimeOrderedId } from '../../src/domain/ids.ts';
import { parsePlans, type Plan } from '../../src/plans.ts';
import { insertEndpoint } from '../../src/store/endpoints.ts';

/** A capture in the form that the worker gets. */
export function makeCapture(endpointId: string, fields: Partial<DecodedCapture> = {}): DecodedCapture {
  return {
    id: newTimeOrderedId(),
    endpointId,
    userId: 'ann',
    method: 'POST',
    target: `/h/${endpointId}`,
    rawHeaders: ['Host', 'x'],
    ip: '127.0.0.1',
    body: Buffer.from('{}'),
    isUtf8: true,
    ...fields,
  };
}

/** A new endpoint of ann, without the API; returns its id. */
export async function storeEndpoint(db: Knex): Promise<string> {
  const plan = parsePlans(undefined).get('pro') as Plan;
  const fields = { userId: 'ann', alias: null, permanent: false, expiresAt: null, now: new Date(), plan };
  const id = newEndpointId();
  await insertEndpoint(db, { id, ...fields });
  return id;
}
