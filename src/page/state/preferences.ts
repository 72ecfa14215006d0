import type { Zone } from '../content/time.ts';
import { createStore, type Store } from './store.ts';

/** What people choose for all visits in this browser. */
export interface Preferences {
  /** In which zone the page shows times. */
  zone: Store<Zone>;
}

const ZONE_KEY = 'hookbay:zone';

export function openPreferences(): Preferences {
  const zone = createStore<Zone>(read(ZONE_KEY) === 'utc' ? 'utc' : 'local');
  zone.subscribe(() => write(ZONE_KEY, zone.get()));
  return { zone };
}

/** Storage can be switched off; then choices last as long as the page. */
function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // See `read`.
  }
}
