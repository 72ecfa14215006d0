import { z } from 'zod';
import { bodyErrors, guardedErrors, type Operation } from './operation.ts';

const MIN_SECONDS = 300;
const MAX_SECONDS = 30 * 86_400;
const DEFAULT_SECONDS = 86_400;

const label = z
  .string()
  .min(1)
  .max(100)
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode');

const fields = {
  expiresIn: z
    .int()
    .min(MIN_SECONDS)
    .max(MAX_SECONDS)
    .default(DEFAULT_SECONDS)
    .meta({ description: 'Seconds until the link ends' }),
  redact: z.boolean().default(true).meta({
    description: 'Hide secrets in headers and query, and the address of the sender; bodies are shown as sent',
  }),
  label: label.nullable().default(null).meta({ description: 'A note for yourself' }),
};

/** Body of `POST /api/requests/:id/shares`; none means the defaults. */
export const shareEntryBody = z.strictObject(fields).default({ expiresIn: DEFAULT_SECONDS, redact: true, label: null });

/** Body of `POST /api/endpoints/:id/shares`. */
export const shareEndpointBody = z
  .strictObject({
    ...fields,
    until: z
      .literal('now')
      .optional()
      .meta({ description: 'Cover only what came until now; otherwise later ones too' }),
  })
  .default({ expiresIn: DEFAULT_SECONDS, redact: true, label: null });

const id = z.uuid();
const instant = z.iso.datetime({ precision: 3 });

const created = z.strictObject({ id, token: z.string(), url: z.string(), expiresAt: instant });

const scope = {
  endpoint_id: id,
  request_id: id.nullable(),
  redact: z.boolean(),
  until: instant.nullable(),
  expires_at: instant,
};
const list = z.strictObject({
  shares: z.array(z.strictObject({ id, label: z.string().nullable(), created_at: instant, ...scope })),
});

const example = { expiresIn: 3_600, label: 'for the vendor' };

export const SHARE_OPERATIONS: Operation[] = [
  {
    path: '/api/endpoints/{id}/shares',
    method: 'post',
    summary: 'Create a link by which others can read the entries of an endpoint',
    guarded: true,
    body: { schema: shareEndpointBody, required: false, example: { ...example, until: 'now' } },
    answers: { 201: created, ...bodyErrors, 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/endpoints/{id}/shares',
    method: 'get',
    summary: 'List the live share links of an endpoint and of its entries',
    guarded: true,
    answers: { 200: list, 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/requests/{id}/shares',
    method: 'post',
    summary: 'Create a link by which others can read an entry',
    guarded: true,
    body: { schema: shareEntryBody, required: false, example },
    answers: { 201: created, ...bodyErrors, 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/requests/{id}/shares',
    method: 'get',
    summary: 'List the live share links of an entry',
    guarded: true,
    answers: { 200: list, 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/shares/{id}',
    method: 'delete',
    summary: 'Withdraw a share link',
    guarded: true,
    answers: { 200: 'Success', 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/share',
    method: 'get',
    summary: 'What a share link opens; for its holder',
    guarded: true,
    answers: { 200: z.strictObject(scope), ...guardedErrors },
  },
  {
    path: '/s',
    method: 'get',
    summary:
      'The address of share links: a page for their holders, or with `PAGE=false` a text that says how to use them',
    guarded: false,
    answers: { 200: ['text/html', 'text/plain'] },
  },
];
