import type { Access } from '../settings.ts';
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
  /** Takes a token out of the address; true if there was one. */
  takeFromAddress(): boolean;
}

/** A share link that is opened in an owner's tab does not sign the owner out. */
const KEYS: Record<Access, string> = { owner: 'hookbay:token', reader: 'hookbay:share' };

/** `#token=…` of a link that signs in, `#hbs_…` of a share link. */
const IN_ADDRESS: Record<Access, RegExp> = { owner: /^#token=([^&]+)(?:&to=(.*))?$/, reader: /^#(hbs_[^&]+)$/ };

/**
 * The token of this tab. It is kept in the tab's `sessionStorage`, so other tabs and later visits do not have it; one in
 * the address is taken, and removed from the address and the history.
 */
export function openSession(access: Access): SessionStore {
  const key = KEYS[access];
  const given = takeToken(access);
  if (given !== undefined) keep(key, given);
  const store = createStore<Session>({ token: given ?? kept(key), reason: undefined });

  function signIn(token: string): void {
    keep(key, token);
    store.set({ token, reason: undefined });
  }

  return {
    ...store,
    signIn,
    end(reason) {
      keep(key, undefined);
      store.set({ token: undefined, reason });
    },
    takeFromAddress() {
      const token = takeToken(access);
      if (token !== undefined) signIn(token);
      return token !== undefined;
    },
  };
}

function takeToken(access: Access): string | undefined {
  const found = IN_ADDRESS[access].exec(location.hash);
  if (found?.[1] === undefined) return undefined;
  history.replaceState(null, '', found[2] === undefined ? location.pathname : `#${decodeURIComponent(found[2])}`);
  return decodeURIComponent(found[1]);
}

/** Storage can be switched off; then the token lives in memory alone. */
function kept(key: string): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

function keep(key: string, token: string | undefined): void {
  try {
    if (token === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, token);
  } catch {
    // See `kept`.
  }
}
