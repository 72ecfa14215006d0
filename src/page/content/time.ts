export type Zone = 'local' | 'utc';

const UNITS: [name: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** `12:03:11.204`. */
export function formatTime(iso: string, zone: Zone): string {
  return shifted(iso, zone)?.slice(11, 23) ?? iso;
}

/** `2026-11-22 12:03:11.204 +01:00`, or `UTC` at the end. */
export function formatDateTime(iso: string, zone: Zone): string {
  const text = shifted(iso, zone);
  return text === undefined ? iso : `${text.slice(0, 10)} ${text.slice(11, 23)} ${zoneName(iso, zone)}`;
}

/** `2026-11-22`. */
export function dayKey(iso: string, zone: Zone): string {
  return shifted(iso, zone)?.slice(0, 10) ?? iso;
}

/** `3 s ago`, `in 2 d`; `now` in Unix milliseconds. */
export function relativeTime(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000;
  const size = Math.abs(seconds);
  if (Number.isNaN(size)) return iso;
  const [name, unit] = UNITS.find(([, unit]) => size >= unit) ?? ['', 1];
  if (name === '') return 'now';
  const text = `${Math.floor(size / unit)} ${name}`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

/** The instant as the clock of the zone shows it, in ISO's form. */
function shifted(iso: string, zone: Zone): string | undefined {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return undefined;
  const offset = zone === 'utc' ? 0 : new Date(ms).getTimezoneOffset();
  return new Date(ms - offset * 60_000).toISOString();
}

function zoneName(iso: string, zone: Zone): string {
  if (zone === 'utc') return 'UTC';
  const minutes = -new Date(iso).getTimezoneOffset();
  const size = Math.abs(minutes);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
