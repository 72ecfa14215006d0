import type { EndpointCreated, EndpointRecord } from './answers.ts';
import type { Plan } from '../plans.ts';
import { HOUR_MS } from './time.ts';

/** An endpoint and its counters. */
export interface Endpoint {
  id: string;
  userId: string;
  alias: string | null;
  isPermanent: boolean;
  expiresAt: Date | null;
  /** Captures ever received, and entries that are still stored. */
  requestCount: number;
  storedCount: number;
  lastRequestAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
  /** Whether it answers with a custom response. */
  hasResponse: boolean;
}

export function presentEndpoint(endpoint: Endpoint): EndpointRecord {
  return {
    id: endpoint.id,
    user_id: endpoint.userId,
    alias: endpoint.alias,
    is_permanent: endpoint.isPermanent ? 1 : 0,
    expires_at: endpoint.expiresAt?.toISOString() ?? null,
    request_count: endpoint.requestCount,
    last_request_at: endpoint.lastRequestAt?.toISOString() ?? null,
    created_at: endpoint.createdAt.toISOString(),
    updated_at: endpoint.updatedAt.toISOString(),
    ...(endpoint.hasResponse && { custom_response: true as const }),
  };
}

export function presentCreated(
  { id, alias, expiresAt, isPermanent, createdAt }: Endpoint,
  baseUrl: string,
): EndpointCreated {
  return {
    id,
    url: `${baseUrl}/h/${id}`,
    ...(alias !== null && { aliasUrl: `${baseUrl}/h/${alias}` }),
    expiresAt: expiresAt?.toISOString() ?? null,
    isPermanent,
    createdAt: createdAt.toISOString(),
  };
}

/** When an endpoint that is created now expires (Unix milliseconds); null for a permanent one. */
export function expiryOf(plan: Plan, permanent: boolean, now: number): number | null {
  return permanent ? null : now + plan.endpointTtlHours * HOUR_MS;
}
