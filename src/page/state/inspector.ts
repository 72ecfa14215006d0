import { changeAddress, formatAddress, parseAddress, type Address } from '../model/address.ts';
import { equals, NO_FILTER } from '../model/filter.ts';
import type { Access, Settings } from '../settings.ts';
import { createActivities, type Activities } from './activity.ts';
import { createApi, type Api } from './api.ts';
import { createDetail, type Detail } from './detail.ts';
import { createEndpoints, type Endpoints } from './endpoints.ts';
import { openFeed, type Feed } from './feed.ts';
import { READERS, SWITCHED_OFF } from './link.ts';
import { openPreferences, type Preferences } from './preferences.ts';
import { createSearch, type Search } from './search.ts';
import { createSelection, type Selection } from './selection.ts';
import { openSession, type SessionStore } from './session.ts';
import { createShared, type Shared } from './shared.ts';
import { createShown, type Shown } from './shown.ts';
import { createStore, type Store } from './store.ts';
import { countUnread, type Unread } from './unread.ts';
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
  access: Access;
  session: SessionStore;
  api: Api;
  address: Store<Address>;
  endpoints: Endpoints;
  /** For readers: what their link opens. */
  shared: Shared;
  open: Store<Open | undefined>;
  detail: Detail;
  unread: Unread;
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
  | { name: 'export'; endpointId: string; requestId?: string };

export interface Notice {
  text: string;
  /** Tells two equal texts apart. */
  number: number;
}

export function createInspector(settings: Settings): Inspector {
  const { access } = settings;
  const session = openSession(access);
  const token = (): string | undefined => session.get().token;
  const api = createApi(token, (reason) => session.end(reason));
  const address = createStore(parseAddress(location.hash));
  const open = createStore<Open | undefined>(undefined);
  const notice = createStore<Notice | undefined>(undefined);
  const endpoints = createEndpoints(api);
  const shared = createShared(api);
  const detail = createDetail(api);
  const secrets = new Map<string, string>();
  const selection = createSelection();
  const visited = openVisited();

  let filtered = NO_FILTER;

  const unread = countUnread();

  /** Opens and closes what the address names. */
  function follow(): void {
    const { endpoint, request, filter } = address.get();
    const { scope } = shared.state.get();
    const wanted = token() === undefined || (access === 'reader' && scope === undefined) ? undefined : endpoint;
    // A link to one entry lists none.
    const listed = scope !== undefined && scope.request_id !== null ? undefined : wanted;
    const now = open.get();
    if (now?.feed.endpointId !== listed) {
      closeFeed(now);
      open.set(listed === undefined ? undefined : openEndpoint(listed));
    }
    endpoints.watch(access === 'owner' ? wanted : undefined);
    if (now?.feed.endpointId !== listed || !equals(filter, filtered)) selection.clear();
    filtered = filter;
    open.get()?.shown.filter(filter);
    detail.open(wanted === undefined ? undefined : request);
  }

  function openEndpoint(endpointId: string): Open {
    const onUnauthorized = (reason: string): void => session.end(reason);
    const feed = openFeed({
      api,
      endpointId,
      notLive: access === 'reader' ? READERS : settings.live ? undefined : SWITCHED_OFF,
      token,
      onUnauthorized,
    });
    feed.onAdded((entries, live) => live && unread.arrived(entries.length));
    const search = createSearch(api);
    return { feed, search, shown: createShown(feed, search), activities: createActivities(api, feed) };
  }

  function closeFeed(opened: Open | undefined): void {
    opened?.shown.close();
    opened?.search.stop();
    opened?.feed.close();
  }

  function signedInOrOut(): void {
    endpoints.reset();
    detail.clear();
    if (token() === undefined) secrets.clear();
    else void (access === 'reader' ? openShared() : endpoints.refresh());
    follow();
  }

  async function openShared(): Promise<void> {
    if ((await shared.read()) === undefined) return;
    go({}, true);
    follow();
  }

  /** A link opens what it opens, whatever the address says. */
  function inReach(wanted: Address): Address {
    const { scope } = shared.state.get();
    if (scope === undefined) return wanted;
    const request = wanted.endpoint === scope.endpoint_id ? wanted.request : undefined;
    return { ...wanted, endpoint: scope.endpoint_id, request: scope.request_id ?? request };
  }

  function go(change: Partial<Address>, replace = false): void {
    const before = address.get();
    const next = inReach(changeAddress(before, change));
    const text = formatAddress(next);
    if (text === formatAddress(before)) return;
    if (replace) visited.replace(text);
    else visited.push(text);
    address.set(next);
    follow();
  }

  addEventListener('hashchange', () => {
    visited.drop();
    address.set(inReach(parseAddress(location.hash)));
    follow();
  });
  session.subscribe(signedInOrOut);
  signedInOrOut();

  return {
    settings,
    access,
    session,
    api,
    address,
    endpoints,
    shared,
    open,
    detail,
    unread,
    secrets,
    selection,
    preferences: openPreferences(),
    notice,
    dialog: createStore<Dialog | undefined>(undefined),
    go,
    say: (text) => notice.update((before) => ({ text, number: (before?.number ?? 0) + 1 })),
  };
}
