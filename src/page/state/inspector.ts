import { changeAddress, formatAddress, parseAddress, type Address } from '../model/address.ts';
import { equals, NO_FILTER } from '../model/filter.ts';
import type { Settings } from '../settings.ts';
import { createActivities, type Activities } from './activity.ts';
import { createApi, type Api } from './api.ts';
import { createDetail, type Detail } from './detail.ts';
import { createEndpoints, type Endpoints } from './endpoints.ts';
import { openFeed, type Feed } from './feed.ts';
import { openPreferences, type Preferences } from './preferences.ts';
import { createSearch, type Search } from './search.ts';
import { createSelection, type Selection } from './selection.ts';
import { openSession, type SessionStore } from './session.ts';
import { createShown, type Shown } from './shown.ts';
import { createStore, type Store } from './store.ts';
import { openVisited } from './visited.ts';

/** What is open: an endpoint's entries, and those of them that the list shows. */
export interface Open {
  feed: Feed;
  search: Search;
  shown: Shown;
  activities: Activities;
}

/** Everything that the page knows and can do; views read its stores and call its functions. */
export interface Inspector {
  settings: Settings;
  session: SessionStore;
  api: Api;
  address: Store<Address>;
  endpoints: Endpoints;
  open: Store<Open | undefined>;
  detail: Detail;
  /** Secrets that were pasted for a check, by endpoint and provider: in memory alone, until the page is left. */
  secrets: Map<string, string>;
  selection: Selection;
  preferences: Preferences;
  /** Goes to an address: a new entry of the history, unless `replace`. */
  go: (change: Partial<Address>, replace?: boolean) => void;
  /** The dialog that is open. */
  dialog: Store<Dialog | undefined>;
  /** What was done, for people who see and people who hear. */
  notice: Store<Notice | undefined>;
  say: (text: string) => void;
}

export type Dialog =
  | { name: 'help' }
  | { name: 'create' }
  | { name: 'delete-endpoint'; endpointId: string }
  | { name: 'delete-entries'; ids: readonly string[]; ofFilter?: boolean }
  | { name: 'compare-with'; id: string }
  | { name: 'response'; endpointId: string }
  | { name: 'shares'; endpointId: string; requestId?: string }
  | { name: 'export'; endpointId: string };

export interface Notice {
  text: string;
  /** Tells two equal texts apart. */
  number: number;
}

export function createInspector(settings: Settings): Inspector {
  const session = openSession();
  const token = (): string | undefined => session.get().token;
  const api = createApi(token, (reason) => session.end(reason));
  const address = createStore(parseAddress(location.hash));
  const open = createStore<Open | undefined>(undefined);
  const notice = createStore<Notice | undefined>(undefined);
  const endpoints = createEndpoints(api);
  const detail = createDetail(api);
  const secrets = new Map<string, string>();
  const selection = createSelection();
  const visited = openVisited();

  let filtered = NO_FILTER;

  /** Opens and closes what the address names. */
  function follow(): void {
    const { endpoint, request, filter } = address.get();
    const wanted = token() === undefined ? undefined : endpoint;
    const now = open.get();
    if (now?.feed.endpointId !== wanted) {
      closeFeed(now);
      open.set(wanted === undefined ? undefined : openEndpoint(wanted));
    }
    if (now?.feed.endpointId !== wanted || !equals(filter, filtered)) selection.clear();
    filtered = filter;
    open.get()?.shown.filter(filter);
    detail.open(wanted === undefined ? undefined : request);
  }

  function openEndpoint(endpointId: string): Open {
    const onUnauthorized = (reason: string): void => session.end(reason);
    const feed = openFeed({ api, endpointId, live: settings.live, token, onUnauthorized });
    const search = createSearch(api);
    return { feed, search, shown: createShown(feed, search), activities: createActivities(api, feed) };
  }

  function closeFeed(opened: Open | undefined): void {
    opened?.shown.close();
    opened?.search.stop();
    opened?.feed.close();
  }

  function signedInOrOut(): void {
    if (token() === undefined) secrets.clear();
    else void endpoints.refresh();
    follow();
  }

  addEventListener('hashchange', () => {
    visited.drop();
    address.set(parseAddress(location.hash));
    follow();
  });
  session.subscribe(signedInOrOut);
  signedInOrOut();

  return {
    settings,
    session,
    api,
    address,
    endpoints,
    open,
    detail,
    secrets,
    selection,
    preferences: openPreferences(),
    notice,
    dialog: createStore<Dialog | undefined>(undefined),
    go(change, replace = false) {
      const before = address.get();
      const next = changeAddress(before, change);
      const text = formatAddress(next);
      if (text === formatAddress(before)) return;
      if (replace) visited.replace(text);
      else visited.push(text);
      address.set(next);
      follow();
    },
    say: (text) => notice.update((before) => ({ text, number: (before?.number ?? 0) + 1 })),
  };
}
