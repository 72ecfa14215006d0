import { setTimeout as sleep } from 'node:timers/promises';
import { shareNext } from '../single-flight.ts';
import { CAPTURE_QUEUES, type CaptureQueues } from './capture-queue.ts';

/** How long a read or delete waits for acknowledged captures to be stored, in milliseconds. */
const IN_FLIGHT_BOUND_MS = 2_000;

/** With more waiting batches than this the time limit would pass anyway, so reads do not wait. */
const IN_FLIGHT_MAX_BATCHES = 1_000;

/**
 * Returns a function that waits until every capture that was acknowledged before its call is stored, for at most two
 * seconds, and returns the number of batches that still are not. Concurrent callers share one query at a time. It
 * throws when Redis is unreachable.
 */
export function createInFlightWait(queues: CaptureQueues): () => Promise<number> {
  const snapshot = shareNext(() => inFlight(queues));
  return async () => {
    const deadline = performance.now() + IN_FLIGHT_BOUND_MS;
    let awaited = await snapshot();
    for (let pauseMs = 2; awaited.size > 0; pauseMs = Math.min(pauseMs * 2, 50)) {
      if (awaited.size > IN_FLIGHT_MAX_BATCHES || performance.now() + pauseMs > deadline) return awaited.size;
      await sleep(pauseMs);
      awaited = awaited.intersection(await snapshot());
    }
    return 0;
  };
}

/** Reads the oldest ids where there are too many: callers wait for these, not for later ones. */
async function inFlight(queues: CaptureQueues): Promise<Set<string>> {
  const lists = await Promise.all(
    CAPTURE_QUEUES.map((name) => queues[name].getRanges(['wait', 'active', 'delayed'], 0, IN_FLIGHT_MAX_BATCHES, true)),
  );
  return new Set(lists.flat());
}
