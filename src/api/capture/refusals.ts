import type { Counter } from 'prom-client';
import { unavailable } from '../http/errors.ts';
import { refusalLog, type Log } from '../../log.ts';

/** Why a valid capture is refused with 503, and the message for its sender. */
const REASONS = {
  lookup: 'The endpoint could not be looked up; send this request again',
  plan: 'The plan of this endpoint is not configured here',
  redis_full: 'The queue is full; send this request again',
  body_memory: 'Too many bodies are being received at once; send this request again',
  waited: 'The capture could not be stored in time; send this request again',
  redis: 'The capture could not be stored; send this request again',
} as const;

export type RefusalReason = keyof typeof REASONS;
export const REFUSAL_REASONS = Object.keys(REASONS) as RefusalReason[];

/** Refuses a capture: counts it, logs it (at intervals, by reason), and returns the HttpError 503 to throw. */
export type Refuse = (reason: RefusalReason, cause?: unknown) => Error;

export function createRefusals(counter: Counter<'reason'>, log: Log): Refuse {
  // `rate()` misses the first event of a counter that did not exist before it.
  for (const reason of REFUSAL_REASONS) counter.inc({ reason }, 0);
  const logs = new Map(REFUSAL_REASONS.map((reason) => [reason, refusalLog(log, reason)]));
  return (reason, cause) => {
    counter.inc({ reason });
    logs.get(reason)?.(cause);
    return unavailable(REASONS[reason]);
  };
}
