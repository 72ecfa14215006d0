import { encodedSize } from '../domain/capture-batch.ts';
import type { CapturedRequest } from '../domain/captured-request.ts';
import { newTimeOrderedId } from '../domain/ids.ts';
import { nextUtcDay } from '../domain/time.ts';
import { httpError, unavailable } from '../errors.ts';
import { createGroupCommit, type GroupCommit } from '../group-commit.ts';
import { refusalLog, type Log } from '../log.ts';
import type { ApiMetrics } from '../metrics.ts';
import type { CaptureQueueName, EnqueuedBatch } from '../queue/capture-queue.ts';
import { wasRefused } from '../redis/connections.ts';
import type { Quota, QuotaRequest, Reservation } from '../redis/quota.ts';

const BATCH_MAX_CAPTURES = 256;
const BATCH_MAX_BYTES = 512 * 1024;
const MAX_OVERLAPPING_FLUSHES = 4;
const MAX_OVERLAPPING_LARGE = 2;

/** With the time-outs of what comes before and after, a refusal is there within 2.5 s. */
const MAX_WAIT_MS = 500;

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
  log: Log;
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
export function createIntake({ quota, enqueue, metrics, log }: IntakeOptions): Intake {
  const notTaken = refusalLog(log, 'Captures refused: Redis did not take them');
  const intakes = {
    capture: groupCommit('capture', BATCH_MAX_CAPTURES, MAX_OVERLAPPING_FLUSHES),
    // By themselves, so that a slow one keeps no small one waiting.
    'capture-large': groupCommit('capture-large', 1, MAX_OVERLAPPING_LARGE),
  };

  function groupCommit(queue: CaptureQueueName, maxItems: number, maxInFlight: number): GroupCommit<Submitted, OverQuota | undefined> {
    return createGroupCommit({
      maxItems,
      maxBytes: BATCH_MAX_BYTES,
      maxInFlight,
      maxWaitMs: MAX_WAIT_MS,
      sizeOf: ({ capture }) => encodedSize(capture),
      async flush(submitted) {
        try {
          return await keep(queue, submitted);
        } catch (error) {
          notTaken(error);
          throw error;
        }
      },
    });
  }

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
      const refusal = await intake.submit({ capture, dailyCap }).catch(() => {
        throw unavailable('The capture could not be stored; send this request again');
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
