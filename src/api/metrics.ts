import type { Counter, Gauge, Histogram } from 'prom-client';
import { createInstruments, startingAtZero, type Metrics } from '../metrics.ts';

/** Outcomes of requests to `/h/…`; `refused` is any 4xx without an outcome of its own. */
export const CAPTURE_OUTCOMES = [
  'accepted',
  'unknown_endpoint',
  'expired',
  'too_large',
  'over_quota',
  'unavailable',
  'aborted',
  'refused',
] as const;
export type CaptureOutcome = (typeof CAPTURE_OUTCOMES)[number];

const RECEIPT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const MANAGEMENT_BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export interface ApiMetrics extends Metrics {
  /** Ready-made children of `hookbay_captures_total`: a capture costs one addition. */
  captures: Record<CaptureOutcome, { inc(): void }>;
  /** Captures refused with 503; the reasons are those of `capture/refusals.ts`. */
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
  followers: Gauge<'kind'>;
  streamEnds: Counter<'reason'>;
  redisMemoryRatio: Gauge;
  redisMemoryRefusing: Gauge;
}

export function createApiMetrics(): ApiMetrics {
  const { base, counter, gauge, histogram } = createInstruments();
  const captures = counter('hookbay_captures_total', 'Requests to capture URLs by outcome', 'outcome');
  return {
    ...base,
    captures: Object.fromEntries(
      CAPTURE_OUTCOMES.map((outcome) => [outcome, startingAtZero(captures, outcome)]),
    ) as ApiMetrics['captures'],
    captureRefusals: counter('hookbay_capture_refusals_total', 'Captures refused with 503, by reason', 'reason'),
    receiptSeconds: histogram(
      'hookbay_receipt_seconds',
      'Accepted captures: from the headers to the receipt',
      RECEIPT_BUCKETS,
    ),
    batchCaptures: histogram('hookbay_batch_captures', 'Captures in one enqueued batch', BATCH_BUCKETS),
    intakeBytes: gauge('hookbay_intake_bytes', 'Bytes of request bodies held in memory'),
    answerBytes: gauge('hookbay_answer_bytes', 'Bytes of entries held in memory until their readers have them'),
    httpRequests: counter(
      'hookbay_http_requests_total',
      'Management requests by route pattern and class of status',
      'route',
      'status',
    ),
    httpRequestSeconds: histogram(
      'hookbay_http_request_seconds',
      'Management requests: from the headers to the end of the answer',
      MANAGEMENT_BUCKETS,
      'route',
    ),
    sockets: gauge('hookbay_sockets', 'Live-event sockets that are connected'),
    socketCloses: counter('hookbay_socket_closes_total', 'Live-event sockets that were closed, by reason', 'reason'),
    replayedEvents: counter('hookbay_replayed_events_total', 'Stored captures that were replayed to subscribers'),
    followers: gauge('hookbay_followers', 'Requests that wait for an entry, and event streams that are open', 'kind'),
    streamEnds: counter('hookbay_stream_ends_total', 'Event streams that ended, by reason', 'reason'),
    redisMemoryRatio: gauge(
      'hookbay_redis_memory_ratio',
      'Memory that Redis uses, as a share of its maxmemory; 0 when that is unlimited',
    ),
    redisMemoryRefusing: gauge(
      'hookbay_redis_memory_refusing',
      'Whether captures are refused because the memory of Redis runs out (0 or 1)',
    ),
  };
}
