import { encodedSize } from '../domain/capture-batch.ts';
import type { CapturedRequest } from '../domain/captured-request.ts';
import { newTimeOrderedId } from '../domain/ids.ts';
import { nextUtcDay } from '../domain/time.ts';
import { httpError } from '../errors.ts';
import { createGroupCommit, WaitedTooLong } from '../group-commit.ts';
import type { ApiMetrics } from '../metrics.ts';
import type { CaptureQueueName, EnqueuedBatch } from '../queue/capture-queue.ts';
import { wasRefused } from '../redis/connections.ts';
import type { Quota, QuotaRequest, Reservation } from '../redis/quota.ts';
import type { Refuse } from './refusals.ts';

const BATCH_MAX_CAPTURES = 256;
const BATCH_MAX_BYTES = 512 * 1024;
const MAX_OVERLAPPING_FLUSHES = 4;

/** Large captures go one by one, as many at a time as these bytes hold; each takes about five times its own in memory. */
const LARGE_BYTES_IN_FLIGHT = 64 * 1024 * 1024;

/** With the time-outs of what comes before and after, a refusal is there within 2.5 s. */
const MAX_WAIT_MS = 500;

/** A large one may use up what its look-up has left: its endpoint was found before its body came. */
const LARGE_MAX_WAIT_MS = 900;

export interface Intake {
  /**
   * Resolves when the capture is kept.
   * @param dailyCap of its owner's plan; null = unlimited
   * @throws HttpError 429 over the cap, 503 when nothing can be promised
   */
  submit(capture: CapturedRequest, dailyCap: number | null): Promise<void>;
  /** Resolves when every submitted capture is answered. */
  idle(): Promise<void>;
}

export interface IntakeOptions {
  quota: Quota;
  enqueue: (queue: CaptureQueueName, batch: EnqueuedBatch) => Promise<void>;
  metrics: ApiMetrics;
  refuse: Refuse;
}

interface Submitted {
  capture: CapturedRequest;
  dailyCap: number | null;
}

/** What is told to a sender over its cap. */
interface OverQuota {
  used: number;
  cap: number;
  now: number;
}

/** Group commit of captures: one reservation and one `enqueue` (one job, one fsync in Redis) answer many senders. */
export function createIntake({ quota, enqueue, metrics, refuse }: IntakeOptions): Intake {
  const sizeOf = ({ capture }: Submitted): number => encodedSize(capture);
  const intakes = {
    capture: createGroupCommit<Submitted, OverQuota | undefined>({
      maxItems: BATCH_MAX_CAPTURES,
      maxBytes: BATCH_MAX_BYTES,
      maxInFlight: MAX_OVERLAPPING_FLUSHES,
      maxWaitMs: MAX_WAIT_MS,
      sizeOf,
      flush: (submitted) => keep('capture', submitted),
    }),
    // By themselves, so that a slow one keeps no small one waiting.
    'capture-large': createGroupCommit<Submitted, OverQuota | undefined>({
      maxItems: 1,
      maxBytes: LARGE_BYTES_IN_FLIGHT,
      maxInFlight: Infinity,
      maxBytesInFlight: LARGE_BYTES_IN_FLIGHT,
      maxWaitMs: LARGE_MAX_WAIT_MS,
      sizeOf,
      flush: (submitted) => keep('capture-large', submitted),
    }),
  };

  async function keep(queue: CaptureQueueName, submitted: Submitted[]): Promise<(OverQuota | undefined)[]> {
    const id = newTimeOrderedId();
    const reservation = await quota.reserve(id, requestsOf(submitted));
    const refusals = refuseBeyond(submitted, reservation);
    const captures = submitted.filter((_item, i) => refusals[i] === undefined).map(({ capture }) => capture);
    try {
      if (captures.length > 0) await enqueue(queue, { id, day: reservation.day, captures });
    } catch (error) {
      // Where nobody knows, the reservation stays until the reconciler has looked.
      if (wasRefused(error)) await quota.refund(id).catch(() => {});
      throw error;
    }
    quota.settle(id);
    if (captures.length > 0) metrics.batchCaptures.observe(captures.length);
    return refusals;
  }

  return {
    async submit(capture, dailyCap) {
      const intake = encodedSize(capture) > BATCH_MAX_BYTES ? intakes['capture-large'] : intakes.capture;
      const refusal = await intake.submit({ capture, dailyCap }).catch((error: unknown) => {
        throw refuse(error instanceof WaitedTooLong ? 'waited' : 'redis', error);
      });
      if (refusal !== undefined) throw overQuota(refusal);
    },
    async idle() {
      await Promise.all([intakes.capture.idle(), intakes['capture-large'].idle()]);
    },
  };
}

function requestsOf(submitted: Submitted[]): QuotaRequest[] {
  const requests = new Map<string, QuotaRequest>();
  for (const { capture, dailyCap } of submitted) {
    const count = (requests.get(capture.userId)?.count ?? 0) + 1;
    requests.set(capture.userId, { userId: capture.userId, count, cap: dailyCap });
  }
  return [...requests.values()];
}

/** For each capture what to tell its sender; undefined for the first ones of each user, as many as were granted. */
function refuseBeyond(submitted: Submitted[], { grants, now }: Reservation): (OverQuota | undefined)[] {
  const left = new Map([...grants].map(([user, { granted }]) => [user, granted]));
  return submitted.map(({ capture: { userId }, dailyCap }) => {
    const granted = left.get(userId) ?? 0;
    left.set(userId, granted - 1);
    return granted > 0 ? undefined : { used: grants.get(userId)?.used ?? 0, cap: dailyCap ?? 0, now };
  });
}

function overQuota({ used, cap, now }: OverQuota): Error {
  const resetAt = nextUtcDay(now);
  return httpError(429, `The plan allows ${cap} requests a day; it starts again at midnight UTC`, {
    body: { dailyRequests: used, dailyRequestsMax: cap, resetAt: new Date(resetAt).toISOString() },
    headers: { 'Retry-After': String(Math.ceil((resetAt - now) / 1000)) },
  });
}
