import type { DecodedCapture } from '../../src/domain/capture-batch.ts';
import { newTimeOrderedId } from '../../src/domain/ids.ts';

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
