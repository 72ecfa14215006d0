import type { Activity as Answer } from '../../domain/answers.ts';
import { count, readActivity, type Activity } from '../model/activity.ts';
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
