import { z } from 'zod';
import { uuid } from '../http/validate.ts';
import { filterQuery } from './filter-query.ts';
import { ALIAS, ALIAS_MAX_LENGTH, ALIAS_MIN_LENGTH, aliasProblem } from '../../domain/alias.ts';
import { MAX_SIGNATURE_LENGTH, PROVIDERS } from '../../domain/signature/verify.ts';

const MAX_LIMIT = 200;
const MAX_ENDPOINTS_LIMIT = 1_000;
const MAX_BATCH_IDS = 1_000;
const MAX_MINUTES = 1_440;

const aliasError = { error: ({ input }: { input?: unknown }) => aliasProblem(input as string) };

export const alias = z
  .string()
  .min(ALIAS_MIN_LENGTH, aliasError)
  .max(ALIAS_MAX_LENGTH, aliasError)
  .regex(ALIAS, aliasError)
  .refine((text) => aliasProblem(text) === undefined, aliasError);

/** Body of `POST /api/endpoints`; `alias: null` means none. */
export const createEndpointBody = z
  .strictObject({ permanent: z.boolean().default(false), alias: alias.nullable().default(null) })
  .default({ permanent: false, alias: null });

export const batchDeleteBody = z.strictObject({
  ids: z.array(uuid).min(1, 'must hold at least one id').max(MAX_BATCH_IDS, `must hold at most ${MAX_BATCH_IDS} ids`),
});

/** Bytes of a payload whose signature is checked on the public route. */
export const MAX_VERIFY_PAYLOAD_BYTES = 1024 * 1024;

const provider = z.enum(PROVIDERS, `must be one of ${PROVIDERS.join(', ')}`);

/** A signature or a similarly short text. */
const shortText = z.string().max(MAX_SIGNATURE_LENGTH, `must have at most ${MAX_SIGNATURE_LENGTH} characters`);

export const verifySignatureBody = z.object({
  provider,
  payload: z.string().meta({
    maxLength: MAX_VERIFY_PAYLOAD_BYTES,
    description: `At most ${MAX_VERIFY_PAYLOAD_BYTES} bytes of UTF-8; more is 413`,
  }),
  signature: shortText,
  secret: shortText,
  timestamp: shortText.optional(),
});

/** Body of `POST /api/requests/:id/verify`; by default the provider is found by the entry's headers. */
export const verifyStoredBody = z.strictObject({ provider: provider.optional(), secret: shortText });

/** A number in a query, where values are texts. */
export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number);
const MAX_WHOLE_NUMBER = 999_999_999_999_999;

/** A whole number that is refused beyond `max`. */
export const wholeNumberUpTo = (max: number) => wholeNumber.pipe(z.int().min(0).max(max, `must be ${max} or less`));

/** The number of an entry in its endpoint's sequence; 0 is before the first one. */
export const seq = wholeNumberUpTo(MAX_WHOLE_NUMBER);

const limitUpTo = (max: number, byDefault: number) =>
  wholeNumber
    .pipe(
      z
        .int()
        .min(1, 'must be 1 or more')
        .max(MAX_WHOLE_NUMBER)
        .overwrite((limit) => Math.min(limit, max)),
    )
    .default(byDefault)
    .meta({ description: `More than ${max} is read as ${max}` });

const offset = wholeNumberUpTo(MAX_WHOLE_NUMBER).default(0);

/** A query that adds `target` and `raw_headers` to entries. */
export const rawQuery = z.object({
  raw: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .transform((text) => text === 'true')
    .pipe(z.boolean())
    .meta({ description: 'Adds target and raw_headers to each entry' }),
});

/** Longer bodies are cut in lists; the detail route has them whole. */
export const LIST_MAX_BODY_BYTES = 256 * 1024;

/** A query for entries: what they have, and how much of their bodies. */
export const entryQuery = z.object({
  ...rawQuery.shape,
  bodyBytes: wholeNumberUpTo(LIST_MAX_BODY_BYTES)
    .optional()
    .meta({ description: 'Cuts each body at so many bytes, between characters' }),
});

/** Query of `GET /api/endpoints/:id/requests`; a `limit` over 200 is clamped. Other names are ignored. */
export const pageQuery = z.object({
  limit: limitUpTo(MAX_LIMIT, 50),
  offset,
  before: uuid.optional(),
  ...entryQuery.shape,
  ...filterQuery,
});

/** Query of `GET /api/endpoints/:id/activity`. Other names are ignored. */
export const activityQuery = z.object({
  minutes: wholeNumber
    .pipe(z.int().min(1, 'must be 1 or more').max(MAX_MINUTES, `must be ${MAX_MINUTES} or less`))
    .default(60)
    .meta({ description: 'The last of them is the running one' }),
});

/** Query of `GET /api/endpoints`, likewise; the default is a full page. */
export const endpointPageQuery = z.object({
  limit: limitUpTo(MAX_ENDPOINTS_LIMIT, MAX_ENDPOINTS_LIMIT),
  offset,
  before: uuid.optional(),
});
