import { z } from 'zod';
import { filterQuery } from './filter-query.ts';
import { guardedErrors, type Operation } from './operation.ts';
import { entryQuery, rawQuery, seq, wholeNumberUpTo } from './schemas.ts';

/** Below the usual time limit of proxies, 60 s, with the time that a last look may take. */
const MAX_TIMEOUT_SECONDS = 55;

/** Query of `GET /api/endpoints/:id/requests/next`. Other names are ignored. */
export const waitQuery = z.object({
  after: seq.default(0),
  timeout: wholeNumberUpTo(MAX_TIMEOUT_SECONDS).default(25).meta({ description: 'Seconds' }),
  ...filterQuery,
  ...rawQuery.shape,
});

export type WaitQuery = z.output<typeof waitQuery>;

/** Query of `GET /api/endpoints/:id/events`. Other names are ignored. */
export const eventsQuery = z.object({ after: seq.optional(), ...filterQuery, ...entryQuery.shape });

/** With `Last-Event-ID` clients connect again; it is more recent than the `after` of their first request. */
export const eventsHeaders = z.object({ 'last-event-id': seq.optional() });

export const FOLLOW_OPERATIONS: Operation[] = [
  {
    path: '/api/endpoints/{id}/requests/next',
    method: 'get',
    summary: 'Wait for the first entry beyond `after` that matches. `X-Next-After` is the `seq` to go on after',
    guarded: true,
    query: waitQuery,
    answers: { 200: 'LogEntry', 204: 'nothing', 400: 'Error', 404: 'Error', 410: 'Error', ...guardedErrors },
  },
  {
    path: '/api/endpoints/{id}/events',
    method: 'get',
    summary: 'Follow the entries beyond `Last-Event-ID` or `after` that match, in order, as server-sent events',
    guarded: true,
    query: eventsQuery,
    answers: { 200: 'text/event-stream', 400: 'Error', 404: 'Error', ...guardedErrors },
  },
];
