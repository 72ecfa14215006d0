import { createStore, type Store } from './store.ts';

/** Who is signed in, in this tab alone. */
export interface Session {
  token: string | undefined;
  /** Why the page asks for a token: what the server said of the one before. */
  reason: string | undefined;
}

export interface SessionStore extends Store<Session> {
  signIn(token: string): void;
  /** Forgets the token; the address stays, so the next one opens the same entry. */
  end(reason?: string): void;
  /** Forgets everything, also what the page has in memory. */
  signOut(): void;
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

  function signIn(token: string): void {
    keep(token);
    store.set({ token, reason: undefined });
  }

  let isLeaving = false;
  // A link that signs in, opened in this tab: the page begins anew, without anything of the user before.
  addEventListener('hashchange', () => {
    const next = takeFromAddress();
    if (next === undefined) return;
    keep(next);
    if (kept() !== next) return signIn(next);
    isLeaving = true;
    location.reload();
  });

  return {
    ...store,
    signIn,
    end(reason) {
      if (isLeaving) return;
      keep(undefined);
      store.set({ token: undefined, reason });
    },
    signOut() {
      keep(undefined);
      history.replaceState(null, '', location.pathname);
      location.reload();
    },
  };
}

function takeFromAddress(): string | undefined {
  const found = /^#token=([^&]*)(?:&to=(.*))?$/.exec(location.hash);
  if (found === null) return undefined;
  const [, token = '', to] = found;
  history.replaceState(null, '', to === undefined ? location.pathname : `#${decoded(to)}`);
  return token === '' ? undefined : decoded(token);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
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
