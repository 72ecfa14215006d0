import type { LogEntry } from '../../domain/answers.ts';
import { ApiError, messageOf, type Api } from './api.ts';
import { createStore, type Store } from './store.ts';

/** One entry as it was sent, its body cut at `DETAIL_BODY_BYTES`. */
export interface Opened {
  id: string;
  entry: LogEntry | undefined;
  state: 'loading' | 'ready' | 'gone' | 'failed';
  error: string | undefined;
}

export interface Detail {
  state: Store<Opened | undefined>;
  /** Reads an entry, and shows it when it has come. */
  open(id: string | undefined): void;
  /** Reads an entry without showing it. */
  read(id: string): Promise<LogEntry>;
  again(): void;
  /** Forgets what was read. */
  clear(): void;
}

/** More of a body is downloaded as a file, or shown on demand. */
export const DETAIL_BODY_BYTES = 262_144;

/** Entries that are kept, so that going back shows them at once. */
const KEPT = 20;

/** Someone who holds an arrow key down opens dozens of entries a second. */
const PAUSE_MS = 60;

export function createDetail(api: Api): Detail {
  const state = createStore<Opened | undefined>(undefined);
  const kept = new Map<string, LogEntry>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;

  async function read(id: string): Promise<LogEntry> {
    const query = new URLSearchParams({ raw: 'true', bodyBytes: String(DETAIL_BODY_BYTES) });
    const { body: entry } = await api.get<LogEntry>(`/api/requests/${id}`, query);
    kept.delete(id);
    kept.set(id, entry);
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT) break;
      kept.delete(oldest);
    }
    return entry;
  }

  async function load(id: string): Promise<void> {
    const isOpen = (): boolean => state.get()?.id === id;
    try {
      const entry = await read(id);
      if (isOpen()) state.set({ id, entry, state: 'ready', error: undefined });
    } catch (error) {
      const gone = error instanceof ApiError && error.status === 404;
      if (gone) kept.delete(id);
      if (isOpen()) state.set({ id, entry: undefined, state: gone ? 'gone' : 'failed', error: messageOf(error) });
    }
  }

  return {
    state,
    read,
    open(id) {
      // Asked for again, it is on its way.
      if (id !== undefined && state.get()?.id === id) return;
      clearTimeout(timer);
      if (id === undefined) return state.set(undefined);
      const entry = kept.get(id);
      state.set({ id, entry, state: entry === undefined ? 'loading' : 'ready', error: undefined });
      // At once, unless it is one of many.
      const hurry = performance.now() - last < PAUSE_MS ? PAUSE_MS : 0;
      last = performance.now();
      timer = setTimeout(() => void load(id), hurry);
    },
    again() {
      const id = state.get()?.id;
      if (id !== undefined) void load(id);
    },
    clear: () => kept.clear(),
  };
}
