import { setTimeout as sleep } from 'node:timers/promises';
import { ApiRefusal, createBackoff } from './api.ts';
import type { Delivery } from './follow.ts';
import { forward } from './forward.ts';
import type { Session } from './session.ts';
import { describe, ListenError } from './text.ts';

export interface Result {
  status?: number;
  error?: string;
  ms: number;
  attempts: number;
}

/** Tries after a broken connection: the server may have been restarted just then, or crash at this request each time. */
const MAX_BROKEN = 5;

const RETRY_MS = [250, 500, 1_000, 2_000];

/** Tells once that the local server cannot be reached, and once that it can again. */
export function createReachability({ options: { target }, say }: Session): (why: string | undefined) => void {
  let down = false;
  return (why) => {
    if (down === (why !== undefined)) return;
    down = why !== undefined;
    say(down ? `${target.host} cannot be reached (${why}); waiting for it` : `${target.host} can be reached again`);
  };
}

/**
 * Sends a request until it is answered. A server that cannot be reached is waited for.
 * @throws when `stopping` is aborted meanwhile, and when Hookbay refuses the token
 */
export async function deliver(
  delivery: Delivery,
  session: Session,
  reachability: (why: string | undefined) => void,
): Promise<Result> {
  const backoff = createBackoff();
  let broken = 0;
  for (let attempts = 1; ; attempts += 1) {
    const start = performance.now();
    const attempt = await forward(delivery, session);
    session.cutting.throwIfAborted();
    const ms = Math.round(performance.now() - start);
    if (attempt.kind !== 'bodiless') reachability(attempt.kind === 'unreachable' ? attempt.why : undefined);
    if (attempt.kind === 'answered') return { status: attempt.status, ms, attempts };
    if (attempt.kind === 'late' || attempt.kind === 'refused') return { error: attempt.why, ms, attempts };
    if (attempt.kind === 'broken' && (broken += 1) === MAX_BROKEN) return { error: attempt.why, ms, attempts };
    if (attempt.kind === 'bodiless') {
      const { error } = attempt;
      if (error instanceof ApiRefusal && error.status === 404)
        return { error: 'Hookbay has no such entry any more', ms, attempts };
      if (error instanceof ListenError) throw error;
      session.say(`The body of ${delivery.seq} did not come (${describe(error)}); trying again`);
      await backoff.wait(error, session.stopping);
    } else {
      const delay = RETRY_MS[Math.min(attempts, RETRY_MS.length) - 1];
      await sleep(delay, undefined, { signal: session.stopping });
    }
  }
}
