import { timeOfId } from '../domain/ids.ts';
import type { WorkerMetrics } from './metrics.ts';
import type { CaptureBatch, Persisted } from './persist.ts';

type Persist = (batches: CaptureBatch[], lastResort: boolean) => Promise<Persisted>;

/** Measures committed transactions; failed ones are repeated, and logged. */
export function measurePersist(metrics: WorkerMetrics, persist: Persist): Persist {
  return async (batches, lastResort) => {
    const start = performance.now();
    const persisted = await persist(batches, lastResort);
    metrics.persistSeconds.observe((performance.now() - start) / 1000);
    metrics.persistedCaptures.inc(persisted.stored.length);
    metrics.deadLetteredCaptures.inc(persisted.refused.length);
    const oldest = oldestArrival(persisted);
    // The clocks of pods may differ.
    if (oldest !== undefined) metrics.captureToCommitSeconds.observe(Math.max(0, Date.now() - oldest) / 1000);
    return persisted;
  };
}

/** Measures from the commit to the moment when Redis has the events. */
export function measureBroadcast(
  metrics: WorkerMetrics,
  broadcast: (persisted: Persisted) => Promise<number>,
): (persisted: Persisted) => Promise<void> {
  return async (persisted) => {
    const start = performance.now();
    const events = await broadcast(persisted);
    if (events === 0) return;
    metrics.events.inc(events);
    metrics.commitToEventSeconds.observe((performance.now() - start) / 1000);
  };
}

/** Unix milliseconds; undefined when the batches had been stored before. */
function oldestArrival({ stored }: Persisted): number | undefined {
  let oldest: string | undefined;
  for (const { id } of stored) if (oldest === undefined || id < oldest) oldest = id;
  return oldest === undefined ? undefined : timeOfId(oldest);
}
