import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What became of a request to `/h/…`; `refused` is any 4xx that has no name of its own. */
export const CAPTURE_OUTCOMES = ['accepted', 'unknown_endpoint', 'expired', 'too_large', 'over_quota', 'unavailable', 'aborted', 'refused'] as const;
export type CaptureOutcome = (typeof CAPTURE_OUTCOMES)[number];

export const SWEPT_KINDS = ['purged', 'retired', 'expired', 'pruned'] as const;

/** In seconds. */
const RECEIPT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const MANAGEMENT_BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];
const PERSIST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
const COMMIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const EVENT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** In captures. */
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The metrics of one process. Labels have few values, never an id: those belong into logs. */
export interface Metrics {
  registry: Registry;
  /** Registers what has to be read off at each scrape. One that fails leaves its gauges as they are. */
  onScrape(read: () => void | Promise<void>): void;
  /** Says where the state of the database's connection pool is read off. */
  measureConnections(read: () => Record<'open' | 'idle' | 'waiting', number>): void;
  /** Everything as Prometheus text. */
  scrape(): Promise<string>;
}

export interface ApiMetrics extends Metrics {
  /** Ready-made children of `hookbay_captures_total`: a capture costs one addition. */
  captures: Record<CaptureOutcome, { inc(): void }>;
  /** Why captures were refused with 503; the reasons are those of `api/capture/refusals.ts`. */
  captureRefusals: Counter<'reason'>;
  receiptSeconds: Histogram;
  batchCaptures: Histogram;
  intakeBytes: Gauge;
  answerBytes: Gauge;
  httpRequests: Counter<'route' | 'status'>;
  httpRequestSeconds: Histogram<'route'>;
  sockets: Gauge;
  socketCloses: Counter<'reason'>;
  replayedEvents: Counter;
  redisMemoryRatio: Gauge;
  redisMemoryRefusing: Gauge;
}

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
  /** Only one worker has values for these four, see `worker/shared-metrics.ts`. */
  queueJobs: Gauge<'queue' | 'state'>;
  queueOldestWaitingSeconds: Gauge<'queue'>;
  deadLetters: Gauge;
  purgesPending: Gauge;
}

export interface MetricsByRole {
  api: ApiMetrics;
  worker: WorkerMetrics;
}

/** Instruments and a registry of their own, so that several roles can run in one process. */
export function createMetrics<R extends keyof MetricsByRole>(role: R): MetricsByRole[R] {
  return CREATE[role]();
}

const CREATE: { [R in keyof MetricsByRole]: () => MetricsByRole[R] } = { api: createApiMetrics, worker: createWorkerMetrics };

function createApiMetrics(): ApiMetrics {
  const { base, counter, gauge, histogram } = createBase();
  const captures = counter('hookbay_captures_total', 'Requests to capture URLs by outcome', 'outcome');
  return {
    ...base,
    captures: Object.fromEntries(CAPTURE_OUTCOMES.map((outcome) => [outcome, startingAtZero(captures, outcome)])) as ApiMetrics['captures'],
    captureRefusals: counter('hookbay_capture_refusals_total', 'Captures refused with 503, by reason', 'reason'),
    receiptSeconds: histogram('hookbay_receipt_seconds', 'Accepted captures: from the headers to the receipt', RECEIPT_BUCKETS),
    batchCaptures: histogram('hookbay_batch_captures', 'Captures in one enqueued batch', BATCH_BUCKETS),
    intakeBytes: gauge('hookbay_intake_bytes', 'Bytes of request bodies held in memory'),
    answerBytes: gauge('hookbay_answer_bytes', 'Bytes of entries held in memory until their readers have them'),
    httpRequests: counter('hookbay_http_requests_total', 'Management requests by route pattern and class of status', 'route', 'status'),
    httpRequestSeconds: histogram('hookbay_http_request_seconds', 'Management requests: from the headers to the end of the answer', MANAGEMENT_BUCKETS, 'route'),
    sockets: gauge('hookbay_sockets', 'Live-event sockets that are connected'),
    socketCloses: counter('hookbay_socket_closes_total', 'Live-event sockets that were closed, by reason', 'reason'),
    replayedEvents: counter('hookbay_replayed_events_total', 'Stored captures that were replayed to subscribers'),
    redisMemoryRatio: gauge('hookbay_redis_memory_ratio', 'Memory that Redis uses, as a share of its maxmemory; 0 when that is unlimited'),
    redisMemoryRefusing: gauge('hookbay_redis_memory_refusing', 'Whether captures are refused because the memory of Redis runs out (0 or 1)'),
  };
}

function createWorkerMetrics(): WorkerMetrics {
  const { base, counter, gauge, histogram } = createBase();
  const sweptRows = counter('hookbay_swept_rows_total', 'Rows that sweeps removed, by kind', 'kind');
  for (const kind of SWEPT_KINDS) startingAtZero(sweptRows, kind);
  return {
    ...base,
    persistSeconds: histogram('hookbay_persist_seconds', 'Transactions that stored captures', PERSIST_BUCKETS),
    persistedCaptures: counter('hookbay_persisted_captures_total', 'Captures that were stored'),
    captureToCommitSeconds: histogram('hookbay_capture_to_commit_seconds', 'From the arrival of the oldest capture of a transaction to its commit', COMMIT_BUCKETS),
    deadLetteredCaptures: counter('hookbay_dead_lettered_captures_total', 'Captures that the database refused and that went to dead_letters'),
    orphanedCaptures: counter('hookbay_orphaned_captures_total', 'Captures that were not stored because their endpoint had no row'),
    events: counter('hookbay_events_total', 'Live events that were published'),
    commitToEventSeconds: histogram('hookbay_commit_to_event_seconds', 'From a commit to the publication of its live events', EVENT_BUCKETS),
    sweptRows,
    sweepLastSuccess: gauge('hookbay_sweep_last_success_timestamp_seconds', 'When this process last finished a sweep (Unix time); 0 before its first one'),
    queueJobs: gauge('hookbay_queue_jobs', 'Jobs by queue and state; from one worker only', 'queue', 'state'),
    queueOldestWaitingSeconds: gauge('hookbay_queue_oldest_waiting_seconds', 'Age of the job that is taken next, 0 when none waits; from one worker only', 'queue'),
    deadLetters: withoutValue(gauge('hookbay_dead_letters', 'Rows in dead_letters; from one worker only')),
    purgesPending: withoutValue(gauge('hookbay_purges_pending', 'Deleted endpoints whose entries still have to go; from one worker only')),
  };
}

function createBase() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const readers: (() => void | Promise<void>)[] = [];
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> => new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]): Gauge<L> => new Gauge({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]): Histogram<L> =>
    new Histogram({ name, help, buckets, labelNames, registers });

  const connections = gauge('hookbay_database_connections', 'Connections to the database: open, of these idle, and callers that are waiting for one', 'state');

  const base: Metrics = {
    registry,
    onScrape: (read) => void readers.push(read),
    measureConnections(read) {
      readers.push(() => {
        for (const [state, count] of Object.entries(read())) connections.set({ state }, count);
      });
    },
    async scrape() {
      await Promise.allSettled(readers.map(async (read) => read()));
      return registry.metrics();
    },
  };
  return { base, counter, gauge, histogram };
}

/** A counter that appears with its first event hides that event from `rate()`. */
function startingAtZero<L extends string>(counter: Counter<L>, label: string): Counter.Internal {
  const child = counter.labels(label);
  child.inc(0);
  return child;
}

/** Takes away the 0 that a gauge without labels is born with. */
function withoutValue(gauge: Gauge): Gauge {
  gauge.remove();
  return gauge;
}
