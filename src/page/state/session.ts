import { createStore, type Store } from './store.ts';

/** Who is signed in, in this tab alone. */
export interface Session {
  token: string | undefined;
  /** Why the page asks for a token: what the server said of the one before. */
  reason: string | undefined;
}

export interface SessionStore extends Store<Session> {
  signIn(token: string): void;
  /** Forgets the token. */
  end(reason?: string): void;
}

const KEY = 'hookbay:token';

/**
 * The token of this tab. It is kept in the tab's `sessionStorage`, so other tabs and later visits do not have it; one in
 * the address (`#token=…`) is taken, and removed from the address and the history.
 */
export function openSession(): SessionStore {
  const given = takeFromAddress();
  if (given !== undefined) keep(given);
  const store = createStore<Session>({ token: given ?? kept(), reason: undefined });
  return {
    ...store,
    signIn(token) {
      keep(token);
      store.set({ token, reason: undefined });
    },
    end(reason) {
      keep(undefined);
      store.set({ token: undefined, reason });
    },
  };
}

function takeFromAddress(): string | undefined {
  const found = /^#token=([^&]+)(?:&to=(.*))?$/.exec(location.hash);
  if (found?.[1] === undefined) return undefined;
  history.replaceState(null, '', found[2] === undefined ? location.pathname : `#${decodeURIComponent(found[2])}`);
  return decodeURIComponent(found[1]);
}

/** Storage can be switched off; then the token lives in memory alone. */
function kept(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

function keep(token: string | undefined): void {
  try {
    if (token === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, token);
  } catch {
    // See `kept`.
  }
}
