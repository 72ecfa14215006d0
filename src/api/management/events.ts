import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { isHttpError } from 'http-errors';
import { holderOf } from '../../domain/share.ts';
import { describeError, type Log } from '../../log.ts';
import type { WakeUps } from '../../redis/wake-ups.ts';
import { bearerToken, principal, type AuthOptions } from '../auth/token.ts';
import { TOKEN_RECHECK_MS, watchToken } from '../auth/token-watch.ts';
import { validate } from '../http/validate.ts';
import { openEventStream, STREAM_TIMES, type EventStream } from './event-stream.ts';
import { feed } from './feed.ts';
import { endpointIdOf, watchClient } from './follower.ts';
import { filterOf } from './filter-query.ts';
import { eventsHeaders, eventsQuery } from './follow-operations.ts';
import type { Look } from './look.ts';
import type { Places } from './places.ts';
import { readerOf } from './requests.ts';

export interface EventsOptions {
  look: Look;
  wakeUps: WakeUps;
  streams: Places;
  auth: AuthOptions;
  /** Aborted when this process stops. */
  stopping: AbortSignal;
  log: Log;
  onEnd: (reason: EndReason) => void;
}

/** `client`: it disconnected; it cannot be told. */
export type EndReason = 'restarting' | 'interrupted' | 'unauthorized' | 'too_slow' | 'deleted' | 'more' | 'client';

/** `GET /api/endpoints/:id/events`: the entries of an endpoint as server-sent events, stored ones first. */
export function eventsRoute(router: Router, options: EventsOptions): void {
  const { look, wakeUps, streams, stopping, log } = options;

  router.get('/api/endpoints/:id/events', async (ctx) => {
    const endpointId = endpointIdOf(ctx);
    const query = validate(eventsQuery, ctx.query);
    const { 'last-event-id': lastId } = validate(eventsHeaders, ctx.headers);
    const { bodyBytes } = query;
    const filter = filterOf(query);
    const ending = createEnding();
    let leave = (): void => {};
    let stream: EventStream | undefined;
    let probing: NodeJS.Timeout | undefined;
    watchClient(
      ctx,
      () => {
        clearInterval(probing);
        ending.end('client');
        leave();
      },
      () => (probing = setInterval(() => stream?.ping(), STREAM_TIMES.probe)),
    );
    leave = streams.take(holderOf(principal(ctx)));
    const following = await wakeUps.follow(endpointId, ending.signal);
    const lookAfter = (position: number, limit: number) =>
      look({ endpointId, reader: readerOf(ctx), filter, after: position, limit, bodyBytes });
    try {
      // Looks at no entry.
      const { requestCount: committed } = (await lookAfter(Number.MAX_SAFE_INTEGER, 1)).endpoint;
      stream = openEventStream(ctx);
      const { signal } = ending;
      const from = lastId ?? query.after ?? committed;
      const feeding = { stream, following, look: lookAfter, from, committed, raw: query.raw, signal };
      void run(ctx, ending, stream, () => feed(feeding)).finally(() => following.leave());
    } catch (error) {
      following.leave();
      throw error;
    }
  });

  /** Sends until there is a reason to end, and says which one. It never fails. */
  async function run(ctx: Context, ending: Ending, stream: EventStream, send: () => Promise<EndReason | undefined>) {
    const { expiresAt } = principal(ctx);
    const { auth, onEnd } = options;
    const watched = { token: bearerToken(ctx), expiresAt, auth, recheckMs: TOKEN_RECHECK_MS };
    const stopWatching = watchToken(watched, () => ending.end('unauthorized'));
    const onStop = (): void => {
      ending.end('restarting');
      // A client that does not read would hold up the stop.
      setTimeout(() => ctx.res.destroy(), STREAM_TIMES.stop).unref();
    };
    if (stopping.aborted) onStop();
    else stopping.addEventListener('abort', onStop);
    try {
      const reason = await send();
      if (reason !== undefined) ending.end(reason);
    } catch (error) {
      ending.end(isHttpError(error) && error.status === 404 ? 'deleted' : 'interrupted');
      if (ending.reason() === 'interrupted') log.warn({ error: describeError(error) }, 'An event stream broke off');
    }
    stopWatching();
    stopping.removeEventListener('abort', onStop);
    const reason = ending.reason();
    if (reason !== 'more') stream.send({ event: 'end', data: { reason } });
    stream.end();
    onEnd(reason);
  }
}

interface Ending {
  signal: AbortSignal;
  /** The first reason counts. */
  end(reason: EndReason): void;
  reason(): EndReason;
}

function createEnding(): Ending {
  const over = new AbortController();
  let first: EndReason | undefined;
  return {
    signal: over.signal,
    end(reason) {
      first ??= reason;
      over.abort();
    },
    reason: () => first ?? 'interrupted',
  };
}
