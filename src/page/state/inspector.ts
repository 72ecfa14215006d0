import type { Address } from '../model/address.ts';
import { equals, NO_FILTER } from '../model/filter.ts';
import { createApi, type Api } from './api.ts';
import { createDetail, type Detail } from './detail.ts';
import { createEndpoints, type Endpoints } from './endpoints.ts';
import { countUnread, createOpening, type Open, type Unread } from './opening.ts';
import { createRouter, type Router } from './router.ts';
import { createSelection, type Selection } from './selection.ts';
import { openSession, type SessionStore } from './session.ts';
import { openPreferences, type Access, type Preferences, type Settings } from './settings.ts';
import { createShared, type Shared } from './shared.ts';
import { createStore, type Store } from './store.ts';

/** Everything that the page knows and can do; views read its stores and call its functions. */
export interface Inspector extends Router {
  settings: Settings;
  access: Access;
  session: SessionStore;
  api: Api;
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
  // It takes a token out of the address, before anything else reads that.
  const session = openSession(access);
  const api = createApi(
    () => session.get().token,
    (reason) => session.end(reason),
  );
  const unread = countUnread();
  const shared = createShared(api);
  const endpoints = createEndpoints(api);
  const detail = createDetail(api);
  const secrets = new Map<string, string>();
  const selection = createSelection();
  const { address, go } = createRouter((wanted) => inReach(wanted, shared), follow);
  const { open, show } = createOpening(settings, session, api, unread);
  let filtered = NO_FILTER;

  /** Opens and closes what the address names. */
  function follow(): void {
    const { endpoint, request, filter } = address.get();
    const { scope } = shared.state.get();
    const mayRead = session.get().token !== undefined && (access === 'owner' || scope !== undefined);
    // A link to one entry lists none.
    const lists = mayRead && (scope === undefined || scope.request_id === null);
    const changed = show(lists ? endpoint : undefined);
    endpoints.watch(mayRead && access === 'owner' ? endpoint : undefined);
    if (changed || !equals(filter, filtered)) selection.clear();
    filtered = filter;
    open.get()?.shown.filter(filter);
    detail.open(mayRead ? request : undefined);
  }

  function signedInOrOut(): void {
    endpoints.reset();
    detail.clear();
    if (session.get().token === undefined) secrets.clear();
    else void (access === 'reader' ? openShared() : endpoints.refresh());
    follow();
  }

  async function openShared(): Promise<void> {
    if ((await shared.read()) === undefined) return;
    go({}, true);
    follow();
  }

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
    dialog: createStore<Dialog | undefined>(undefined),
    go,
    ...createNotices(),
  };
}

function createNotices(): Pick<Inspector, 'notice' | 'say'> {
  const notice = createStore<Notice | undefined>(undefined);
  return {
    notice,
    say: (text) => notice.update((before) => ({ text, number: (before?.number ?? 0) + 1 })),
  };
}

/** A share link opens what it opens, whatever the address says. */
function inReach(wanted: Address, { state }: Shared): Address {
  const { scope } = state.get();
  if (scope === undefined) return wanted;
  const request = wanted.endpoint === scope.endpoint_id ? wanted.request : undefined;
  return { ...wanted, endpoint: scope.endpoint_id, request: scope.request_id ?? request };
}
