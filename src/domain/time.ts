export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** `YYYY-MM-DD` of the UTC day that holds an instant (Unix milliseconds). */
export function utcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Instant (Unix milliseconds) at which the UTC day after that of an instant begins. */
export function nextUtcDay(ms: number): number {
  return (Math.floor(ms / DAY_MS) + 1) * DAY_MS;
}

/** Instant before which entries are past retention; null where a plan keeps them for good. */
export function retentionCutoff(retentionDays: number | null, now: number): number | null {
  return retentionDays === null ? null : now - retentionDays * DAY_MS;
}
