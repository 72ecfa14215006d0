import type { LogEntry } from '../../domain/answers.ts';
import { checkStandardWebhook, type Verdict } from '../content/standard-webhooks.ts';
import type { Api } from './api.ts';
import { wholeBody } from './whole-body.ts';

/** Those whose signatures can be checked, in the order of the choice. */
export const VERIFIED = {
  github: 'GitHub',
  stripe: 'Stripe',
  shopify: 'Shopify',
  slack: 'Slack',
  'standard-webhooks': 'Standard Webhooks',
} as const;

export type VerifiedProvider = keyof typeof VERIFIED;

/** Why this browser cannot check a provider's signatures; undefined where it can. */
export function verifyProblem(provider: VerifiedProvider): string | undefined {
  return provider === 'standard-webhooks' && globalThis.crypto?.subtle === undefined
    ? 'This check runs in the browser, which allows it over HTTPS or on localhost only.'
    : undefined;
}

/**
 * Checks the signature of an entry. The API checks those that it knows; for Standard Webhooks the secret stays here.
 * @throws ApiError
 */
export async function verify(api: Api, entry: LogEntry, provider: VerifiedProvider, secret: string): Promise<Verdict> {
  if (provider !== 'standard-webhooks')
    return api.call<Verdict>('POST', `/api/requests/${entry.id}/verify`, { provider, secret });
  return checkStandardWebhook(entry, await wholeBody(api, entry), secret);
}
