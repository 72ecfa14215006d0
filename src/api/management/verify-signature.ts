import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { headersFrom } from '../../domain/log-entry.ts';
import {
  PROVIDERS,
  SCHEMES,
  verifySignature,
  type Provider,
  type VerificationResult,
} from '../../domain/signature/verify.ts';
import { httpError } from '../http/errors.ts';
import { principal } from '../auth/token.ts';
import type { ByteBudget, Owner } from '../http/byte-budget.ts';
import { flatJsonBody, jsonBody } from '../http/json-body.ts';
import { findOwnedRequest, type RequestRouteOptions } from './requests.ts';
import { networkOf, senderAddress } from '../http/sender-address.ts';
import { validate } from '../http/validate.ts';
import { MAX_VERIFY_PAYLOAD_BYTES, verifySignatureBody, verifyStoredBody } from './schemas.ts';

/** JSON may take six bytes for one byte of the payload (`\u0000`). */
const MAX_JSON_BYTES = 6 * MAX_VERIFY_PAYLOAD_BYTES + 64 * 1024;

export interface VerifyRouteOptions {
  managementBodies: ByteBudget;
  trustProxyHops: number;
}

/** The public route. Nothing of its input is kept or logged. */
export function verifySignatureRoutes(
  open: Router,
  { managementBodies: budget, trustProxyHops }: VerifyRouteOptions,
): void {
  const ownerOf = (ctx: Context): Owner => ({ userId: networkOf(senderAddress(ctx.req, trustProxyHops)) });
  open.post('/api/verify-signature', flatJsonBody({ budget, ownerOf }, MAX_JSON_BYTES), async (ctx: Context) => {
    const { provider, payload, signature, secret, timestamp } = validate(verifySignatureBody, ctx.request.body ?? {});
    const bytes = Buffer.from(payload, 'utf8');
    if (bytes.length > MAX_VERIFY_PAYLOAD_BYTES) {
      throw httpError(413, `payload: has ${bytes.length} bytes; at most ${MAX_VERIFY_PAYLOAD_BYTES} are checked`);
    }
    ctx.body = await verifySignature(provider, { payload: bytes, signature, secret, timestamp }, Date.now());
  });
}

/** Checks a stored entry by its own headers and exact bytes; the secret is not kept. */
export function verifyStoredRoutes(guarded: Router, options: RequestRouteOptions): void {
  guarded.post(
    '/api/requests/:id/verify',
    jsonBody({ budget: options.managementBodies, ownerOf: principal }),
    async (ctx: Context & { params: Record<string, string> }) => {
      const { provider, secret } = validate(verifyStoredBody, ctx.request.body ?? {});
      const { rawHeaders, body } = await findOwnedRequest(ctx, options);
      ctx.body = await verifyStored(headersFrom(rawHeaders), body, secret, provider);
    },
  );
}

type StoredResult = VerificationResult & { provider?: Provider };

async function verifyStored(
  headers: Record<string, string>,
  payload: Buffer,
  secret: string,
  requested?: Provider,
): Promise<StoredResult> {
  const provider = requested ?? PROVIDERS.find((name) => Object.hasOwn(headers, SCHEMES[name].header));
  if (provider === undefined) {
    const names = PROVIDERS.map((name) => SCHEMES[name].header).join(', ');
    return {
      valid: false,
      expected: '',
      actual: '',
      details: `The entry has none of the headers that carry a signature: ${names}.`,
    };
  }
  const scheme = SCHEMES[provider];
  const value = (name: string | undefined): string | undefined =>
    name !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
  const signature = value(scheme.header);
  const timestamp = 'timestampHeader' in scheme ? value(scheme.timestampHeader) : undefined;
  const input = { payload, signature: signature ?? '', secret, timestamp };
  const result = await verifySignature(provider, input, Date.now());
  if (signature === undefined) result.details = `The entry has no header ${scheme.header}.`;
  return { provider, ...result };
}
