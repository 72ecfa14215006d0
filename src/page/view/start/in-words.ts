import { formatDateTime, formatTime, relativeTime } from '../../content/time.ts';
import { formatCount } from '../../content/size.ts';
import type { Endpoint, Usage } from '../../state/endpoints.ts';

const DAY_MS = 86_400_000;

/** Of the daily cap; beyond it the page warns. */
const WARN_SHARE = 0.8;

export function nameOf({ alias, id }: Pick<Endpoint, 'alias' | 'id'>): string {
  return alias ?? id.slice(0, 8);
}

/** Where senders send; the alias is easier to recognise, and the id works as well. */
export function captureUrl(captureBase: string, { alias, id }: Pick<Endpoint, 'alias' | 'id'>): string {
  return `${captureBase}/h/${alias ?? id}`;
}

/** A command that works in bash as it is shown. */
export function curlTo(url: string): string {
  const quoted = `'${url.replaceAll("'", String.raw`'\''`)}'`;
  return `curl ${quoted} \\\n  -H 'Content-Type: application/json' \\\n  -d '{"hello":"world"}'`;
}

export interface Expiry {
  text: string;
  /** What follows the word "expires". */
  when: string;
  state: 'never' | 'later' | 'soon' | 'past';
}

export function expiryInWords({ expires_at }: Pick<Endpoint, 'expires_at'>, now: number): Expiry {
  if (expires_at === null) return { text: 'permanent', when: 'never', state: 'never' };
  const left = Date.parse(expires_at) - now;
  const when = relativeTime(expires_at, now);
  if (left <= 0) return { text: `expired ${when}`, when: `expired ${when}`, state: 'past' };
  return { text: `expires ${when}`, when, state: left < DAY_MS ? 'soon' : 'later' };
}

export function lastInWords({ last_request_at }: Pick<Endpoint, 'last_request_at'>, now: number): string {
  if (last_request_at === null) return 'none yet';
  const text = relativeTime(last_request_at, now);
  return text === 'now' ? 'just now' : text;
}

/** `00:00 UTC`. */
export function resetInWords(resetAt: string): string {
  return `${formatTime(resetAt, 'utc').slice(0, 5)} UTC`;
}

export interface UsageInWords {
  text: string;
  /** With the numbers in full, and the reset by the clock of whoever reads it. */
  title: string;
  state: 'fine' | 'near' | 'reached';
  share: number | undefined;
}

/** @param arrived captures that are newer than `usage` */
export function usageInWords({ dailyRequests, dailyRequestsMax }: Usage, arrived: number, now: number): UsageInWords {
  const used = dailyRequests + arrived;
  if (dailyRequestsMax === null)
    return {
      text: `${formatCount(used)} today`,
      title: 'Captures of today (UTC); your plan has no daily cap',
      state: 'fine',
      share: undefined,
    };
  const share = dailyRequestsMax === 0 ? 1 : Math.min(1, used / dailyRequestsMax);
  const resetAt = new Date(new Date(now).setUTCHours(24, 0, 0, 0)).toISOString();
  const counted = `${formatCount(Math.min(used, dailyRequestsMax))} of ${formatCount(dailyRequestsMax)} captures today`;
  const local = `The count begins anew at ${resetInWords(resetAt)}, ${formatDateTime(resetAt, 'local')} here`;
  if (share === 1)
    return {
      text: `Cap reached until ${resetInWords(resetAt)}`,
      title: `${counted}. Senders get 429 until then. ${local}`,
      state: 'reached',
      share,
    };
  const near = share >= WARN_SHARE;
  return {
    text: `${formatCount(used)} / ${formatCount(dailyRequestsMax)} today${near ? ', near the cap' : ''}`,
    title: `${counted}. ${local}`,
    state: near ? 'near' : 'fine',
    share,
  };
}

/** Those whose alias or id has a text. */
export function matching(list: readonly Endpoint[], text: string): readonly Endpoint[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return list;
  return list.filter(({ alias, id }) => id.startsWith(wanted) || (alias ?? '').includes(wanted));
}
