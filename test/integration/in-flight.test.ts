import { expect, test } from 'vitest';
import { newEndpointId, newTimeOrderedId } from '../../src/domain/ids.ts';
import { enqueueCaptures } from '../../src/queue/capture-queue.ts';
import { createInFlightWait } from '../../src/queue/in-flight.ts';
import { makeCapture } from '../support/captures.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

async function enqueueBatches(count: number): Promise<void> {
  const batch = () => ({ id: newTimeOrderedId(), day: '2026-03-01', captures: [makeCapture(newEndpointId())] });
  await Promise.all(Array.from({ length: count }, () => enqueueCaptures(environment.queue, batch())));
}

test('returns at once without captures in flight, and counts batches that are not stored within the time limit', async () => {
  const wait = createInFlightWait(environment.queues);
  expect(await wait()).toBe(0);
  await enqueueBatches(3);
  expect(await wait()).toBe(3);
});

test('later batches do not hide those that the caller waits for', async () => {
  const wait = createInFlightWait(environment.queues);
  await enqueueBatches(600);
  // No worker runs, so none of them is stored when the wait ends.
  const [pending] = await Promise.all([wait(), enqueueBatches(900)]);
  expect(pending).toBeGreaterThanOrEqual(603);
});
