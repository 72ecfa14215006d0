import type { LogEntry } from '../../domain/answers.ts';
import { KEPT_BODY_BYTES, type Entry } from '../model/entry.ts';
import { searchQuery, type Filter } from '../model/filter.ts';
import { messageOf, type Api } from './api.ts';
import { createStore, type Store } from './store.ts';

/** A search of the whole endpoint by the API, which goes on from page to page. */
export interface SearchState {
  /** What is searched for; undefined when there is no search. */
  filter: Filter | undefined;
  running: boolean;
  found: readonly Entry[];
  /** Entries looked at so far, and bodies that were too long for that. */
  scanned: number;
  bodySkipped: number;
  /** How many entries match, where an index tells; then entries are not looked at one by one. */
  total: number | undefined;
  /** Whether there is more to look at. */
  more: boolean;
  error: string | undefined;
}

export interface Search {
  state: Store<SearchState>;
  start(endpointId: string, filter: Filter): void;
  /** Goes on after as many were found as one go brings, after a halt, or after an error. */
  goOn(): void;
  /** Stops for now, and keeps what was found. */
  halt(): void;
  /** Takes out entries that are deleted. */
  forget(ids: ReadonlySet<string>): void;
  /** Ends the search, and forgets what was found. */
  stop(): void;
}

/** What one page of a search answers; without a content to look for it has a total in place of `scanned`. */
interface Page {
  requests: LogEntry[];
  total?: number;
  total_partial?: true;
  scanned?: number;
  body_skipped?: number;
  next: string | null;
}

const PAGE_ENTRIES = 50;

/** Entries that are found before the search waits to be told to go on. */
const FOUND_AT_ONCE = 200;

/** What the page keeps at most. */
export const MAX_FOUND = 2_000;

const NONE: SearchState = {
  filter: undefined,
  running: false,
  found: [],
  scanned: 0,
  bodySkipped: 0,
  total: undefined,
  more: false,
  error: undefined,
};

export function createSearch(api: Api): Search {
  const state = createStore(NONE);
  let abort = new AbortController();
  let endpoint = '';
  /** Where the next page begins; null = there is none. */
  let next: string | null | undefined = null;

  async function run(signal: AbortSignal): Promise<void> {
    const enough = Math.min(state.get().found.length + FOUND_AT_ONCE, MAX_FOUND);
    state.update((now) => ({ ...now, running: true, error: undefined }));
    try {
      do await readPage(signal);
      while (next !== null && state.get().found.length < enough);
      state.update((now) => ({ ...now, running: false }));
    } catch (error) {
      if (!signal.aborted) state.update((now) => ({ ...now, running: false, error: messageOf(error) }));
    }
  }

  async function readPage(signal: AbortSignal): Promise<void> {
    const query = searchQuery(state.get().filter as Filter);
    query.set('limit', String(PAGE_ENTRIES));
    query.set('bodyBytes', String(KEPT_BODY_BYTES));
    if (typeof next === 'string') query.set('before', next);
    const { body } = await api.get<Page>(`/api/endpoints/${endpoint}/requests`, query, signal);
    signal.throwIfAborted();
    next = body.next;
    state.update((now) => ({
      ...now,
      found: [...now.found, ...body.requests],
      scanned: now.scanned + (body.scanned ?? 0),
      bodySkipped: now.bodySkipped + (body.body_skipped ?? 0),
      total: body.total_partial === true ? undefined : body.total,
      more: next !== null,
    }));
  }

  function end(): void {
    abort.abort();
    abort = new AbortController();
  }

  return {
    state,
    start(endpointId, filter) {
      end();
      endpoint = endpointId;
      next = undefined;
      state.set({ ...NONE, filter, more: true });
      void run(abort.signal);
    },
    goOn() {
      const { running, found } = state.get();
      if (!running && next !== null && found.length < MAX_FOUND) void run(abort.signal);
    },
    halt() {
      end();
      state.update((now) => ({ ...now, running: false }));
    },
    forget: (ids) => state.update((now) => ({ ...now, found: now.found.filter(({ id }) => !ids.has(id)) })),
    stop() {
      end();
      next = null;
      state.set(NONE);
    },
  };
}
