import { describeError, type Log } from '../log.ts';
import type { WorkerMetrics } from './metrics.ts';
import type { Persisted } from './persist.ts';

export interface OrphanOptions {
  stopCaptures: (endpointId: string) => Promise<boolean>;
  metrics: WorkerMetrics;
  log: Log;
}

/**
 * Counts captures whose endpoint has no row, and stops captures of these endpoints. After a delete they are stopped
 * already; where they are not, Redis has an endpoint that the database does not have. When Redis does not answer, the
 * next such capture tries again.
 */
export function createOrphanStop({
  stopCaptures,
  metrics,
  log,
}: OrphanOptions): (persisted: Persisted) => Promise<void> {
  return async ({ orphaned }) => {
    if (orphaned.length === 0) return;
    metrics.orphanedCaptures.inc(orphaned.length);
    const endpointIds = [...new Set(orphaned.map(({ endpointId }) => endpointId))];
    try {
      const stopped = await Promise.all(endpointIds.map(stopCaptures));
      const endpoints = stopped.filter(Boolean).length;
      const found = 'Redis had endpoints that the database does not have; their captures are stopped now';
      if (endpoints > 0) log.warn({ endpoints, captures: orphaned.length }, found);
    } catch (error) {
      const failed = { endpoints: endpointIds.length, error: describeError(error) };
      log.warn(failed, 'Captures of endpoints without a row were not stopped');
    }
  };
}
