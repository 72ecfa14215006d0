import { z } from 'zod';
import { FORMATS } from '../../domain/export/format.ts';
import { filterQuery } from './filter-query.ts';
import { guardedErrors, type Operation } from './operation.ts';
import { wholeNumber } from './schemas.ts';

const ENTRY_FORMATS = ['curl', 'har', 'http'] as const;
export type EntryFormat = (typeof ENTRY_FORMATS)[number];

/** Query of `GET /api/endpoints/:id/export`. */
export const exportQuery = z.object({
  format: z.enum(FORMATS, `must be one of ${FORMATS.join(', ')}`),
  after: wholeNumber
    .pipe(z.int().min(0).max(Number.MAX_SAFE_INTEGER))
    .default(0)
    .meta({ description: 'Entries with a greater `seq`: `next` of the export before' }),
  ...filterQuery,
});

/** Query of `GET /api/requests/:id/export`. */
export const entryExportQuery = z.object({
  format: z.enum(ENTRY_FORMATS, `must be one of ${ENTRY_FORMATS.join(', ')}`),
});

export const EXPORT_OPERATIONS: Operation[] = [
  {
    path: '/api/endpoints/{id}/export',
    method: 'get',
    summary: 'Download entries of an endpoint by `seq`, oldest first; the end of the file says whether there are more',
    guarded: true,
    query: exportQuery,
    answers: {
      200: ['application/x-ndjson', 'application/json', 'text/csv'],
      400: 'Error',
      404: 'Error',
      ...guardedErrors,
    },
  },
  {
    path: '/api/requests/{id}/export',
    method: 'get',
    summary: 'One entry as a curl command, as HAR or as the message that was sent',
    guarded: true,
    query: entryExportQuery,
    answers: { 200: ['text/plain', 'application/json', 'message/http'], 400: 'Error', 404: 'Error', ...guardedErrors },
  },
];
