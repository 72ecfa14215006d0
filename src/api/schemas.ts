import { z } from 'zod';
import { badRequest } from '../errors.ts';
import { isUuid } from '../domain/ids.ts';
import { PROVIDERS } from '../domain/signature/verify.ts';

const MAX_LIMIT = 200;
const MAX_ENDPOINTS_LIMIT = 1_000;
const MAX_BATCH_IDS = 1_000;

/** Body of `POST /api/endpoints`; `alias: null` means none. */
export const createEndpointBody = z
  .strictObject({ permanent: z.boolean().default(false), alias: z.string().nullable().default(null) })
  .default({ permanent: false, alias: null });

/** Body of `DELETE /api/requests`. */
export const batchDeleteBody = z.strictObject({
  ids: z
    .array(z.string().refine(isUuid, 'must be a UUID'))
    .min(1, 'must hold at least one id')
    .max(MAX_BATCH_IDS, `must hold at most ${MAX_BATCH_IDS} ids`),
});

/** Bytes of a payload whose signature is checked on the public route. */
export const MAX_VERIFY_PAYLOAD_BYTES = 1024 * 1024;

const provider = z.enum(PROVIDERS, `must be one of ${PROVIDERS.join(', ')}`);

/** Body of `POST /api/verify-signature`. */
export const verifySignatureBody = z.object({
  provider,
  payload: z.string(),
  signature: z.string(),
  secret: z.string(),
  timestamp: z.string().optional(),
});

/** Body of `POST /api/requests/:id/verify`; the provider is found by the entry's headers when left out. */
export const verifyStoredBody = z.strictObject({ provider: provider.optional(), secret: z.string() });

const wholeNumber = z.string().regex(/^\d{1,15}$/, 'must be a whole number');

const limitUpTo = (max: number, byDefault: number) =>
  wholeNumber
    .default(String(byDefault))
    .transform(Number)
    .refine((limit) => limit >= 1, 'must be 1 or more')
    .transform((limit) => Math.min(limit, max));

/** Query of `GET /api/endpoints/:id/requests`; a `limit` over 200 is clamped. Other names are ignored. */
export const pageQuery = z.object({
  limit: limitUpTo(MAX_LIMIT, 50),
  offset: wholeNumber.default('0').transform(Number),
  before: z.string().refine(isUuid, 'must be the id of an entry').optional(),
});

/** Query of `GET /api/endpoints`, likewise; without parameters it is all that fits on a page. */
export const endpointPageQuery = z.object({
  limit: limitUpTo(MAX_ENDPOINTS_LIMIT, MAX_ENDPOINTS_LIMIT),
  offset: wholeNumber.default('0').transform(Number),
  before: z.string().refine(isUuid, 'must be the id of an endpoint').optional(),
});

const endpointId = z.string().refine(isUuid, 'must be the UUID of an endpoint');

/** Message of the live event `subscribe`; `after` is a `seq`, 0 = from the start. */
export const subscribeMessage = z.strictObject({ endpointId, after: z.int().min(0).optional() });

/** Message of the live event `unsubscribe`. */
export const unsubscribeMessage = z.strictObject({ endpointId });

/**
 * Checks input against a schema.
 *
 * @throws HttpError 400 that names the field and what is wrong with it
 */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw badRequest(field === '' ? `The message is not right: ${issue?.message}` : `${field}: ${issue?.message}`);
}
