import type { Zone } from '../content/time.ts';
import { createStore, type Store } from './store.ts';

/** What the server tells the page, by `meta` elements. */
export interface Settings {
  /** Where endpoints capture, without a trailing slash. */
  captureBase: string;
  /** Whether this origin captures; otherwise only `captureBase` does, and the page's policy does not let it go there. */
  capturesHere: boolean;
  /** Whether there are live events. */
  live: boolean;
  customResponses: 'off' | 'safe' | 'redirects';
  access: Access;
}

/** Readers have a share link, which opens the page at `/s`: they see what the link opens, and change nothing. */
export type Access = 'owner' | 'reader';

export function readSettings(): Settings {
  return {
    captureBase: meta('capture-base') ?? location.origin,
    capturesHere: meta('captures-here') !== 'false',
    live: meta('live') !== 'false',
    customResponses: (meta('custom-responses') ?? 'off') as Settings['customResponses'],
    access: location.pathname.endsWith('/s') ? 'reader' : 'owner',
  };
}

function meta(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="hookbay:${name}"]`)?.content;
}

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
