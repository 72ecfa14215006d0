import type { Router } from '@koa/router';
import type { Activity } from '../../domain/answers.ts';
import { isUuid } from '../../domain/ids.ts';
import { holderOf } from '../../domain/share.ts';
import { countByMinute, MINUTE_MS } from '../../store/activity.ts';
import { findEndpoint } from '../../store/endpoints.ts';
import { notFound } from '../http/errors.ts';
import { validate } from '../http/validate.ts';
import { createFairLimit } from './fair-limit.ts';
import { readerOf, type EntryOptions } from './requests.ts';
import { activityQuery } from './schemas.ts';

/** Counts of one process at the same time: each keeps a core of the database busy, for some hundredths of a second. */
const COUNTS_AT_ONCE = 2;
const COUNTS_OF_USER = 1;

/** `GET /api/endpoints/:id/activity`: the stored entries of an endpoint by the minute of their arrival. */
export function activityRoute(router: Router, { db, inFlight }: Pick<EntryOptions, 'db' | 'inFlight'>): void {
  const limit = createFairLimit({ ofUser: COUNTS_OF_USER, ofAll: COUNTS_AT_ONCE });

  router.get('/api/endpoints/:id/activity', async (ctx) => {
    const endpointId = ctx.params['id'] ?? '';
    if (!isUuid(endpointId)) throw notFound();
    const { minutes } = validate(activityQuery, ctx.query);
    const reader = readerOf(ctx);
    await inFlight.settleForRead(ctx);
    if ((await findEndpoint(db.knex, reader.userId, endpointId)) === undefined) throw notFound();
    const until = (Math.floor(Date.now() / MINUTE_MS) + 1) * MINUTE_MS;
    const since = until - minutes * MINUTE_MS;
    const { counts, countedFrom } = await limit(holderOf(reader), () =>
      countByMinute(db, reader, endpointId, { since, minutes }),
    );
    ctx.body = {
      since: new Date(since).toISOString(),
      until: new Date(until).toISOString(),
      counts,
      ...(countedFrom !== undefined && { counted_from: new Date(countedFrom).toISOString() }),
    } satisfies Activity;
  });
}
