import { z } from 'zod';
import { PROVIDERS } from '../../domain/signature/verify.ts';

/* The answers of routes; a test compares them with what every route really answers. */

const id = z.uuid().meta({ example: 'acc193a8-b73b-4634-9b57-1cc0db59b830' });
const instant = z.iso.datetime({ precision: 3 }).meta({ example: '2026-11-20T22:33:23.312Z' });
const count = z.int().min(0);

export const answers = {
  Error: z.strictObject({ error: z.string().meta({ example: 'Not found' }) }),
  TooLarge: z.strictObject({ error: z.string(), maxSize: count, actualSize: count }),
  OverQuota: z.strictObject({ error: z.string(), dailyRequests: count, dailyRequestsMax: count, resetAt: instant }),
  Success: z.strictObject({ success: z.boolean() }),
  Deleted: z.strictObject({ success: z.boolean(), deleted: count }),
  Receipt: z.strictObject({ received: z.boolean(), id, timestamp: z.int(), challenge: z.string().optional() }),
  EndpointCreated: z.strictObject({
    id,
    url: z.string(),
    aliasUrl: z.string().optional(),
    expiresAt: instant.nullable(),
    isPermanent: z.boolean(),
    createdAt: instant,
  }),
  Endpoint: z.strictObject({
    id,
    user_id: z.string(),
    alias: z.string().nullable(),
    is_permanent: z.int().min(0).max(1),
    expires_at: instant.nullable(),
    request_count: count,
    last_request_at: instant.nullable(),
    created_at: instant,
    updated_at: instant,
    custom_response: z.literal(true).optional(),
  }),
  LogEntry: z.strictObject({
    id,
    endpoint_id: id,
    seq: z.int().min(1),
    method: z.string(),
    path: z.string(),
    headers: z.record(z.string(), z.string()),
    query: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    body: z.string(),
    body_encoding: z.enum(['utf8', 'base64']),
    body_truncated: z.literal(true).optional(),
    content_type: z.string(),
    ip: z.string(),
    user_agent: z.string(),
    size: count,
    created_at: instant,
    target: z.string().optional().meta({ description: 'With raw=true: the request-target as sent' }),
    raw_headers: z
      .array(z.tuple([z.string(), z.string()]))
      .optional()
      .meta({ description: 'With raw=true: name and value of each header as sent, a character for each byte' }),
  }),
  Activity: z.strictObject({
    since: instant,
    until: instant.meta({ description: 'The end of the running minute' }),
    counts: z.array(count).meta({ description: 'Entries of each minute, oldest first' }),
    counted_from: instant
      .optional()
      .meta({ description: 'Older entries are not counted, because there are more than 100,000' }),
  }),
  Verification: z.strictObject({
    provider: z.enum(PROVIDERS).optional(),
    valid: z.boolean(),
    expected: z.string(),
    actual: z.string(),
    details: z.string().optional(),
  }),
};

export const endpointList = z.strictObject({
  endpoints: z.array(answers.Endpoint),
  usage: z.strictObject({ dailyRequests: count, dailyRequestsMax: count.nullable() }),
  total: count,
  limit: z.int(),
  offset: z.int(),
});

const next = z.uuid().nullable().meta({ description: 'The id to go on `before`; null at the end' });

export const requestList = z.union([
  z
    .strictObject({
      requests: z.array(answers.LogEntry),
      total: count,
      total_partial: z.literal(true).optional().meta({ description: '`total` counts the newest 10,000 entries only' }),
      limit: z.int(),
      offset: z.int(),
      next: next.optional(),
    })
    .meta({ description: 'Without path, q, header and json; `next` with method, since or until' }),
  z
    .strictObject({
      requests: z.array(answers.LogEntry),
      limit: z.int(),
      scanned: count,
      body_skipped: count.meta({ description: 'Bodies that were too long to be searched' }),
      next,
    })
    .meta({ description: 'With path, q, header or json' }),
]);
