import type { Access } from './settings.ts';
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

/** A share link that is opened in an owner's tab does not sign the owner out. */
const KEYS: Record<Access, string> = { owner: 'hookbay:token', reader: 'hookbay:share' };

/** `#token=…` of a link that signs in, `#hbs_…` of a share link. */
const IN_ADDRESS: Record<Access, RegExp> = { owner: /^#token=([^&]*)(?:&to=(.*))?$/, reader: /^#(hbs_[^&]*)$/ };

/**
 * The token of this tab. It is kept in the tab's `sessionStorage`, so other tabs and later visits do not have it; one in
 * the address is taken, and removed from the address and the history.
 */
export function openSession(access: Access): SessionStore {
  const key = KEYS[access];
  const given = takeFromAddress(access);
  if (given !== undefined) keep(key, given);
  const store = createStore<Session>({ token: given ?? kept(key), reason: undefined });

  function signIn(token: string): void {
    keep(key, token);
    store.set({ token, reason: undefined });
  }

  let isLeaving = false;
  // A link that signs in, opened in this tab: the page begins anew, without anything of the user before.
  addEventListener('hashchange', () => {
    const next = takeFromAddress(access);
    if (next === undefined) return;
    keep(key, next);
    if (kept(key) !== next) return signIn(next);
    isLeaving = true;
    location.reload();
  });

  return {
    ...store,
    signIn,
    end(reason) {
      if (isLeaving) return;
      keep(key, undefined);
      store.set({ token: undefined, reason });
    },
    signOut() {
      keep(key, undefined);
      history.replaceState(null, '', location.pathname);
      location.reload();
    },
  };
}

function takeFromAddress(access: Access): string | undefined {
  const found = IN_ADDRESS[access].exec(location.hash);
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
