import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { ShareRecord, ShareScopeRecord } from './answers.ts';

const TOKEN_BYTES = 32;
const TOKEN = /^hbs_[\w-]{43}$/;

/** What a share link opens. */
export interface ShareScope {
  endpointId: string;
  /** The only entry that it opens; null for all entries of the endpoint. */
  requestId: string | null;
  /** Entries that arrived later are not covered; in Unix milliseconds, null = no bound. */
  until: number | null;
  redact: boolean;
}

/** A share link; its token is known to its holder only. */
export interface Share extends ShareScope {
  id: string;
  userId: string;
  label: string | null;
  expiresAt: Date;
  createdAt: Date;
}

export function newShareId(): string {
  return randomUUID();
}

export function newShareToken(): string {
  return `hbs_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

export function isShareToken(text: string): boolean {
  return TOKEN.test(text);
}

/** What is stored of a token. It is found by this hash, so the time of a look-up tells nothing about the token. */
export function hashShareToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Whom a reader counts as where users share memory or places: a user, or all share links of a user together, so that
 * their holders take nothing from the owner.
 */
export function holderOf({ userId, share }: { userId: string; share?: ShareScope }): string {
  return share === undefined ? userId : `shares of ${userId}`;
}

export function presentShare({ id, label, expiresAt, createdAt, ...scope }: Share): ShareRecord {
  return {
    id,
    endpoint_id: scope.endpointId,
    request_id: scope.requestId,
    label,
    redact: scope.redact,
    until: isoTime(scope.until),
    expires_at: expiresAt.toISOString(),
    created_at: createdAt.toISOString(),
  };
}

export function presentScope(share: Share): ShareScopeRecord {
  const { id: _id, label: _label, created_at: _createdAt, ...rest } = presentShare(share);
  return rest;
}

function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
