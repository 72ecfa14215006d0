export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The UTC day of an instant (Unix milliseconds), as `YYYY-MM-DD`. */
export function utcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** When the next UTC day after an instant begins; both in Unix milliseconds. */
export function nextUtcDay(ms: number): number {
  return (Math.floor(ms / DAY_MS) + 1) * DAY_MS;
}

/** The instant before which entries are past retention; null where a plan keeps them without limit. */
export function retentionCutoff(retentionDays: number | null, now: number): number | null {
  return retentionDays === null ? null : now - retentionDays * DAY_MS;
}
