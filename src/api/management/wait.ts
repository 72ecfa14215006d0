import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { holderOf } from '../../domain/share.ts';
import type { WakeUps } from '../../redis/wake-ups.ts';
import { principal } from '../auth/token.ts';
import { SenderGone } from '../http/body.ts';
import { httpError } from '../http/errors.ts';
import { validate } from '../http/validate.ts';
import { answerEntry } from './answers.ts';
import { endpointIdOf, watchClient } from './follower.ts';
import { filterOf } from './filter-query.ts';
import { waitQuery, type WaitQuery } from './follow-operations.ts';
import type { Found, Look } from './look.ts';
import type { Places } from './places.ts';
import { readerOf, withBody, type EntryOptions } from './requests.ts';

/** The `seq` to go on after: every entry up to it was looked at. */
const NEXT_AFTER_HEADER = 'X-Next-After';

export interface WaitOptions extends EntryOptions {
  look: Look;
  wakeUps: WakeUps;
  waits: Places;
  /** Aborted when this process stops. */
  stopping: AbortSignal;
}

/** `GET /api/endpoints/:id/requests/next`: the first entry beyond a `seq`, as soon as it is stored. */
export function waitRoute(router: Router, options: WaitOptions): void {
  const { look, wakeUps, waits, inFlight, stopping } = options;

  router.get('/api/endpoints/:id/requests/next', async (ctx) => {
    const endpointId = endpointIdOf(ctx);
    const query = validate(waitQuery, ctx.query);
    const over = new AbortController();
    const end = (): void => over.abort();
    const leave = waits.take(holderOf(principal(ctx)));
    const timer = setTimeout(end, query.timeout * 1_000);
    try {
      // A client that has closed its half, and still reads, gets its answer at once.
      watchClient(ctx, end, end);
      stopping.addEventListener('abort', end);
      if (stopping.aborted || query.timeout === 0) end();
      await answerNext(ctx, endpointId, query, over);
    } finally {
      clearTimeout(timer);
      stopping.removeEventListener('abort', end);
      leave();
    }
  });

  /** Follows first and looks then, so that no capture can come between a look and the wait. */
  async function answerNext(ctx: Context, endpointId: string, query: WaitQuery, over: AbortController): Promise<void> {
    const following = await wakeUps.follow(endpointId, over.signal);
    try {
      for (let after = query.after; ; await following.next()) {
        if (ctx.res.closed) throw new SenderGone();
        const isLast = over.signal.aborted;
        // A 204 says that nothing was there, not even a capture that is acknowledged and not stored yet.
        if (isLast && !stopping.aborted) await inFlight.settleForRead(ctx);
        const found = await look({ endpointId, reader: readerOf(ctx), filter: filterOf(query), after, limit: 1 });
        after = found.last;
        if (await answerFirst(ctx, found, query.raw)) return;
        if (isLast || found.stopped) return answerNothing(ctx, found);
        if (hasExpired(found)) over.abort();
      }
    } finally {
      following.leave();
    }
  }

  /** Returns false when nothing was found, or was deleted meanwhile. */
  async function answerFirst(ctx: Context, { requests: [first] }: Found, raw: boolean): Promise<boolean> {
    const entry = first && (await withBody(ctx, first, options));
    if (entry === undefined) return false;
    ctx.set(NEXT_AFTER_HEADER, String(entry.seq));
    answerEntry(ctx, entry, raw);
    return true;
  }
}

function answerNothing(ctx: Context, found: Found): void {
  if (!found.stopped && hasExpired(found)) throw httpError(410, 'The endpoint has expired, so nothing comes any more');
  ctx.set(NEXT_AFTER_HEADER, String(found.last));
  ctx.status = 204;
}

function hasExpired({ endpoint: { expiresAt } }: Found): boolean {
  return expiresAt !== null && expiresAt.getTime() <= Date.now();
}
