import type { Api } from './api.ts';
import { openFeed, type Feed } from './feed.ts';
import { createSearch, type Search } from './search.ts';
import type { SessionStore } from './session.ts';
import type { Settings } from './settings.ts';
import { createShown, type Shown } from './shown.ts';
import { createStore, type Store } from './store.ts';

/** What is open: an endpoint's entries, and those of them that the list shows. */
export interface Open {
  feed: Feed;
  search: Search;
  shown: Shown;
}

const SWITCHED_OFF = 'live events are switched off in this installation';
const READERS = 'shared links are refreshed on demand';

export interface Opening {
  open: Store<Open | undefined>;
  /** Opens an endpoint in place of the one before; says whether that is another one. */
  show: (endpointId: string | undefined) => boolean;
}

export function createOpening(settings: Settings, session: SessionStore, api: Api, unread: Unread): Opening {
  const open = createStore<Open | undefined>(undefined);
  const notLive = settings.access === 'reader' ? READERS : settings.live ? undefined : SWITCHED_OFF;

  function openEndpoint(endpointId: string): Open {
    const feed = openFeed({
      api,
      endpointId,
      notLive,
      token: () => session.get().token,
      onUnauthorized: (reason) => session.end(reason),
    });
    feed.onAdded((entries, live) => live && unread.arrived(entries.length));
    const search = createSearch(api);
    return { feed, search, shown: createShown(feed, search) };
  }

  return {
    open,
    show(endpointId) {
      const before = open.get();
      if (before?.feed.endpointId === endpointId) return false;
      before?.shown.close();
      before?.search.stop();
      before?.feed.close();
      open.set(endpointId === undefined ? undefined : openEndpoint(endpointId));
      return true;
    },
  };
}

/** Captures that arrived while nobody could see the page. */
export interface Unread {
  count: Store<number>;
  arrived(count: number): void;
}

export function countUnread(isHidden: () => boolean = () => document.hidden): Unread {
  const count = createStore(0);
  document.addEventListener('visibilitychange', () => {
    if (!isHidden()) count.set(0);
  });
  return {
    count,
    arrived(added) {
      if (isHidden()) count.update((before) => before + added);
    },
  };
}
