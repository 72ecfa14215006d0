import type { Activity as Answer } from '../../domain/answers.ts';
import { ApiError, type Api } from './api.ts';
import type { Feed } from './feed.ts';
import { createStore, type Store } from './store.ts';

/** Captures of an endpoint in the last hour, minute by minute. */
export interface Activities {
  state: Store<Activity | undefined>;
  /** Asks the API, unless nothing can have changed. */
  refresh(): Promise<void>;
}

const MINUTES = 60;

/** Without arrivals, only deletions and time change the picture. */
const OLD_MS = 60_000;

/** Arrivals are counted together. */
const COUNT_EVERY_MS = 500;

export function createActivities(api: Api, { endpointId, onAdded }: Pick<Feed, 'endpointId' | 'onAdded'>): Activities {
  const state = createStore<Activity | undefined>(undefined);
  let arrived: number[] = [];
  let asked = -Infinity;
  let changed = true;
  let refused = false;

  function takeArrivals(): void {
    const instants = arrived;
    arrived = [];
    state.update((now) => now && count(now, instants));
  }

  onAdded((entries, live) => {
    if (!live || entries.length === 0) return;
    changed = true;
    if (arrived.length === 0) setTimeout(takeArrivals, COUNT_EVERY_MS);
    for (const { created_at } of entries) arrived.push(Date.parse(created_at));
  });

  return {
    state,
    async refresh() {
      if (refused || (!changed && performance.now() - asked < OLD_MS)) return;
      changed = false;
      asked = performance.now();
      const query = new URLSearchParams({ minutes: String(MINUTES) });
      try {
        const { body } = await api.get<Answer>(`/api/endpoints/${endpointId}/activity`, query);
        // The answer has what arrived so far.
        arrived.length = 0;
        state.set(readActivity(body));
      } catch (error) {
        // The picture is no more than a help: it waits for the next time, unless it is not for this reader.
        changed = true;
        refused = error instanceof ApiError && [403, 404].includes(error.status);
      }
    },
  };
}

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
