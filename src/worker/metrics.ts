import type { Counter, Gauge, Histogram } from 'prom-client';
import { createInstruments, startingAtZero, withoutValue, type Metrics } from '../metrics.ts';

export const SWEPT_KINDS = ['purged', 'retired', 'expired', 'pruned', 'unshared'] as const;

const PERSIST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
const COMMIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const EVENT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface WorkerMetrics extends Metrics {
  persistSeconds: Histogram;
  persistedCaptures: Counter;
  captureToCommitSeconds: Histogram;
  deadLetteredCaptures: Counter;
  orphanedCaptures: Counter;
  events: Counter;
  commitToEventSeconds: Histogram;
  sweptRows: Counter<'kind'>;
  sweepLastSuccess: Gauge;
  /** Only one worker has values for these four, see `shared-metrics.ts`. */
  queueJobs: Gauge<'queue' | 'state'>;
  queueOldestWaitingSeconds: Gauge<'queue'>;
  deadLetters: Gauge;
  purgesPending: Gauge;
}

export function createWorkerMetrics(): WorkerMetrics {
  const { base, counter, gauge, histogram } = createInstruments();
  const sweptRows = counter('hookbay_swept_rows_total', 'Rows that sweeps removed, by kind', 'kind');
  for (const kind of SWEPT_KINDS) startingAtZero(sweptRows, kind);
  return {
    ...base,
    persistSeconds: histogram('hookbay_persist_seconds', 'Transactions that stored captures', PERSIST_BUCKETS),
    persistedCaptures: counter('hookbay_persisted_captures_total', 'Captures that were stored'),
    captureToCommitSeconds: histogram(
      'hookbay_capture_to_commit_seconds',
      'From the arrival of the oldest capture of a transaction to its commit',
      COMMIT_BUCKETS,
    ),
    deadLetteredCaptures: counter(
      'hookbay_dead_lettered_captures_total',
      'Captures that the database refused and that went to dead_letters',
    ),
    orphanedCaptures: counter(
      'hookbay_orphaned_captures_total',
      'Captures that were not stored because their endpoint had no row',
    ),
    events: counter('hookbay_events_total', 'Live events that were published'),
    commitToEventSeconds: histogram(
      'hookbay_commit_to_event_seconds',
      'From a commit to the publication of its live events',
      EVENT_BUCKETS,
    ),
    sweptRows,
    sweepLastSuccess: gauge(
      'hookbay_sweep_last_success_timestamp_seconds',
      'When this process last finished a sweep (Unix time); 0 before its first one',
    ),
    queueJobs: gauge('hookbay_queue_jobs', 'Jobs by queue and state; from one worker only', 'queue', 'state'),
    queueOldestWaitingSeconds: gauge(
      'hookbay_queue_oldest_waiting_seconds',
      'Age of the job that is taken next, 0 when none waits; from one worker only',
      'queue',
    ),
    deadLetters: withoutValue(gauge('hookbay_dead_letters', 'Rows in dead_letters; from one worker only')),
    purgesPending: withoutValue(
      gauge('hookbay_purges_pending', 'Deleted endpoints whose entries still have to go; from one worker only'),
    ),
  };
}
