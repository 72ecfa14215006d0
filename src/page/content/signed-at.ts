import type { LogEntry } from '../../domain/answers.ts';
import { headerOf } from './message.ts';

/** When the sender signed an entry, in Unix milliseconds; undefined where its signature has no time. */
export function signedAt(entry: Pick<LogEntry, 'headers'>, provider: string): number | undefined {
  const seconds = secondsOf(entry, provider);
  return /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1_000 : undefined;
}

function secondsOf(entry: Pick<LogEntry, 'headers'>, provider: string): string {
  switch (provider) {
    case 'stripe':
      return /(?:^|,)\s*t=(\d+)/.exec(headerOf(entry, 'stripe-signature'))?.[1] ?? '';
    case 'slack':
      return headerOf(entry, 'x-slack-request-timestamp');
    case 'standard-webhooks':
      return headerOf(entry, 'webhook-timestamp') || headerOf(entry, 'svix-timestamp');
    default:
      return '';
  }
}

/** How much later than signed an entry was captured: `2 s after`, `7 min after`, `1 s before`. */
export function captureDelay(signedMs: number, capturedIso: string): string {
  const seconds = Math.floor(Date.parse(capturedIso) / 1_000) - Math.floor(signedMs / 1_000);
  return `${duration(Math.abs(seconds))} ${seconds < 0 ? 'before' : 'after'}`;
}

const UNITS: [name: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
];

function duration(seconds: number): string {
  const found = UNITS.find(([, unit]) => seconds >= 2 * unit);
  return found === undefined ? `${seconds} s` : `${Math.floor(seconds / found[1])} ${found[0]}`;
}
