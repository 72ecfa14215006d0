import type { Activity as Answer } from '../../domain/answers.ts';

/** How many entries came in each of the last minutes. */
export interface Activity {
  /** Where the first minute begins, in Unix milliseconds. */
  since: number;
  counts: readonly number[];
  /** Where the API counts only the newest: from when on. */
  countedFrom: number | undefined;
}

export const MINUTE_MS = 60_000;

export function readActivity({ since, counts, counted_from }: Answer): Activity {
  return {
    since: Date.parse(since),
    counts,
    countedFrom: counted_from === undefined ? undefined : Date.parse(counted_from),
  };
}

/** Counts more entries, by the instants of their arrival; a later minute moves the picture on. */
export function count({ since, counts, countedFrom }: Activity, instants: readonly number[]): Activity {
  const minutes = instants.map((ms) => Math.floor((ms - since) / MINUTE_MS));
  const shift = Math.max(0, Math.max(...minutes) - counts.length + 1);
  const moved = counts.map((_count, i) => counts[i + shift] ?? 0);
  for (const minute of minutes) {
    const i = minute - shift;
    if (i >= 0) moved[i] = (moved[i] as number) + 1;
  }
  return { since: since + shift * MINUTE_MS, counts: moved, countedFrom };
}
