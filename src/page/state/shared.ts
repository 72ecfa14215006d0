import type { ShareScopeRecord } from '../../domain/answers.ts';
import { messageOf, type Api } from './api.ts';
import { createStore, type Store } from './store.ts';

export interface SharedState {
  /** Undefined until it has been read. */
  scope: ShareScopeRecord | undefined;
  error: string | undefined;
}

/** What a share link opens. */
export interface Shared {
  state: Store<SharedState>;
  /** Undefined when it cannot be read; a link that has ended also ends the session. */
  read(): Promise<ShareScopeRecord | undefined>;
}

const UNREAD: SharedState = { scope: undefined, error: undefined };

export function createShared(api: Api): Shared {
  const state = createStore(UNREAD);
  return {
    state,
    async read() {
      state.set(UNREAD);
      try {
        const { body: scope } = await api.get<ShareScopeRecord>('/api/share');
        state.set({ scope, error: undefined });
        return scope;
      } catch (error) {
        state.set({ scope: undefined, error: messageOf(error) });
        return undefined;
      }
    },
  };
}
