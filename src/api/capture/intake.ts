import { DeadlineExceeded, withDeadline } from '../../deadline.ts';
import { encodedSize } from '../../domain/capture-job.ts';
import type { CapturedRequest } from '../../domain/captured-request.ts';
import { newTimeOrderedId } from '../../domain/ids.ts';
import { nextUtcDay, utcDay } from '../../domain/time.ts';
import { httpError } from '../http/errors.ts';
import { createGroupCommit, WaitedTooLong } from '../../group-commit.ts';
import type { ApiMetrics } from '../metrics.ts';
import { isUnknownScript, type CaptureQueueName, type EnqueuedBatch } from '../../queue/capture-queue.ts';
import { wasRefused } from '../../redis/connections.ts';
import type { Quota, QuotaRequest, Reservation } from '../../redis/quota.ts';
import type { Refuse } from './refusals.ts';

const BATCH_MAX_CAPTURES = 256;
const BATCH_MAX_BYTES = 512 * 1024;
const MAX_OVERLAPPING_FLUSHES = 4;

/** Senders that were just answered send again within this time; longer gains little. */
const LINGER_MS = 1;

/** Each large capture is a job of its own; in Redis each waits for those before it. */
const LARGE_BYTES_IN_FLIGHT = 32 * 1024 * 1024;

/** With the look-up before (0.4 s), a refusal is sent within 2.5 s. */
const MAX_WAIT_MS = 500;
const FLUSH_MS = 1_600;

/** Large captures wait longer for their turn; their answer has a deadline of its own. */
const LARGE_MAX_WAIT_MS = 1_800;
const LARGE_ANSWER_MS = 2_500;

export interface Intake {
  /**
   * Resolves when the capture is stored durably.
   * @param dailyCap of the owner's plan; null = unlimited
   * @throws HttpError 429 over the cap, 503 when storing cannot be promised
   */
  submit(capture: CapturedRequest, dailyCap: number | null): Promise<void>;
  idle(): Promise<void>;
}

export interface IntakeOptions {
  quota: Quota;
  enqueue: Record<CaptureQueueName, (batch: EnqueuedBatch) => Promise<void>>;
  /** Reserves and enqueues a batch in one step; false = neither, because not all of it can be reserved. */
  enqueueReserved: (batch: EnqueuedBatch, requests: QuotaRequest[]) => Promise<boolean>;
  /** Removes what a large capture may have left in Redis after its job was refused. */
  discardLarge: (batchId: string) => Promise<void>;
  metrics: ApiMetrics;
  refuse: Refuse;
}

interface Submitted {
  capture: CapturedRequest;
  dailyCap: number | null;
}

interface OverQuota {
  used: number;
  cap: number;
  now: number;
}

/** Group commit of captures: one reservation with one job (one round trip, one fsync in Redis) answers many senders. */
export function createIntake(options: IntakeOptions): Intake {
  const { quota, enqueue, enqueueReserved, discardLarge, metrics, refuse } = options;
  const intakes = {
    capture: createGroupCommit<Submitted, OverQuota | undefined>({
      maxItems: BATCH_MAX_CAPTURES,
      maxBytes: BATCH_MAX_BYTES,
      maxInFlight: MAX_OVERLAPPING_FLUSHES,
      lingerMs: LINGER_MS,
      maxWaitMs: MAX_WAIT_MS,
      sizeOf: ({ capture }) => encodedSize(capture),
      flush: (submitted) => withDeadline(FLUSH_MS, enqueueSmall(submitted)),
    }),
    // Separate, so that a slow large capture delays no small one.
    'capture-large': createGroupCommit<Submitted, OverQuota | undefined>({
      maxItems: 1,
      maxBytes: LARGE_BYTES_IN_FLIGHT,
      maxInFlight: 3,
      maxBytesInFlight: LARGE_BYTES_IN_FLIGHT,
      maxWaitMs: LARGE_MAX_WAIT_MS,
      sizeOf: ({ capture }) => capture.body.length,
      flush: (submitted) => enqueueGranted('capture-large', submitted),
    }),
  };

  /** In one step where each capture is within its owner's cap; otherwise the grants decide what is enqueued. */
  async function enqueueSmall(submitted: Submitted[]): Promise<(OverQuota | undefined)[]> {
    const captures = submitted.map(({ capture }) => capture);
    const batch = { id: newTimeOrderedId(), day: utcDay(Date.now()), captures };
    const requests = requestsOf(submitted);
    const isEnqueued = await settling('capture', batch, () => enqueueReserved(batch, requests)).catch(
      (error: unknown) => {
        // The two steps load the scripts again.
        if (isUnknownScript(error)) return false;
        throw error;
      },
    );
    return isEnqueued ? submitted.map(() => undefined) : enqueueGranted('capture', submitted);
  }

  async function enqueueGranted(queue: CaptureQueueName, submitted: Submitted[]): Promise<(OverQuota | undefined)[]> {
    const id = newTimeOrderedId();
    const reservation = await quota.reserve(id, requestsOf(submitted));
    const refusals = refusalsOf(submitted, reservation);
    const captures = submitted.filter((_item, i) => refusals[i] === undefined).map(({ capture }) => capture);
    const batch = { id, day: reservation.day, captures };
    await settling(queue, batch, async () => {
      if (captures.length > 0) await enqueue[queue](batch);
      return true;
    });
    return refusals;
  }

  /** Settles the reservation of a batch by the outcome of its enqueuing. */
  async function settling(
    queue: CaptureQueueName,
    { id, captures }: EnqueuedBatch,
    enqueueBatch: () => Promise<boolean>,
  ): Promise<boolean> {
    let isEnqueued: boolean;
    try {
      isEnqueued = await enqueueBatch();
    } catch (error) {
      // When the outcome is unknown, the reservation stays for the reconciler.
      if (wasRefused(error)) await undo(queue, id).catch(() => {});
      throw error;
    }
    if (!isEnqueued) return false;
    quota.settle(id);
    if (captures.length > 0) metrics.batchCaptures.observe(captures.length);
    return true;
  }

  /** Removes the body first: as long as the reservation exists, the reconciler cleans up both. */
  async function undo(queue: CaptureQueueName, id: string): Promise<void> {
    if (queue === 'capture-large') await discardLarge(id);
    await quota.refund(id);
  }

  return {
    async submit(capture, dailyCap) {
      const isLarge = encodedSize(capture) > BATCH_MAX_BYTES;
      const kept = isLarge
        ? withDeadline(LARGE_ANSWER_MS, intakes['capture-large'].submit({ capture, dailyCap }))
        : intakes.capture.submit({ capture, dailyCap });
      const refusal = await kept.catch((error: unknown) => {
        throw refuse(error instanceof WaitedTooLong || error instanceof DeadlineExceeded ? 'waited' : 'redis', error);
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

/** For each capture its refusal; undefined for the first ones of each user, as many as were granted. */
function refusalsOf(submitted: Submitted[], { grants, now }: Reservation): (OverQuota | undefined)[] {
  const left = new Map([...grants].map(([user, { granted }]) => [user, granted]));
  return submitted.map(({ capture: { userId }, dailyCap }) => {
    const granted = left.get(userId) ?? 0;
    left.set(userId, granted - 1);
    return granted > 0 ? undefined : { used: grants.get(userId)?.used ?? 0, cap: dailyCap ?? 0, now };
  });
}

function overQuota({ used, cap, now }: OverQuota): Error {
  const resetAt = nextUtcDay(now);
  return httpError(429, `The plan allows ${cap} requests a day; the count is reset at midnight UTC`, {
    body: { dailyRequests: used, dailyRequestsMax: cap, resetAt: new Date(resetAt).toISOString() },
    headers: { 'Retry-After': String(Math.ceil((resetAt - now) / 1000)) },
  });
}
