export type Zone = 'local' | 'utc';

/** What a switch of the zone does. */
export function otherZoneInWords(zone: Zone): string {
  return zone === 'utc' ? 'Show local times' : 'Show times in UTC';
}

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

/** `2026-11-22 12:03 +01:00`, for what needs no seconds. */
export function formatMinute(iso: string, zone: Zone): string {
  return formatDateTime(iso, zone).replace(/:\d\d\.\d{3} /, ' ');
}

/** `2026-11-22`. */
export function dayKey(iso: string, zone: Zone): string {
  return shifted(iso, zone)?.slice(0, 10) ?? iso;
}

/** `3 s ago`, `in 2 d`; what is to come is rounded up, in hours below two days; `now` in Unix milliseconds. */
export function relativeTime(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000;
  const size = Math.abs(seconds);
  if (Number.isNaN(size)) return iso;
  const isAhead = seconds > 0;
  const [name, unit] = UNITS.find(([name, unit]) => size >= (isAhead && name === 'd' ? 2 * unit : unit)) ?? ['s', 1];
  if (isAhead) return `in ${Math.ceil(size / unit)} ${name}`;
  return size < 1 ? 'now' : `${Math.floor(size / unit)} ${name} ago`;
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
