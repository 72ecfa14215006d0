import { isEmpty, searchQuery, type Filter } from '../model/filter.ts';
import { messageOf, type Api } from './api.ts';
import { createStore, type Store } from './store.ts';

export interface DeletionState {
  step: 'finding' | 'asking' | 'deleting' | 'deleted' | 'stopped' | 'failed';
  /** Entries that are to be deleted, as far as they have been found. */
  found: number;
  /** Whether there are more than can be deleted in one go. */
  more: boolean;
  /** Entries whose bodies were too long to be searched. */
  skipped: number;
  /** Those of the found ones that are not there any more. */
  gone: number;
  /** Whether the deletion begins as soon as all have been found. */
  confirmed: boolean;
  error: string | undefined;
}

/** A deletion that asks first, and can be stopped between its batches. */
export interface Deletion {
  state: Store<DeletionState>;
  /** Deletes, as soon as all have been found. */
  confirm(): void;
  /** Goes on after a stop or an error. */
  again(): void;
  /** Resolves after the batch that is under way. */
  stop(): Promise<void>;
}

interface Page {
  requests: { id: string }[];
  limit: number;
  body_skipped?: number;
  next?: string | null;
}

/** What the API takes, and gives, at once. */
const BATCH_IDS = 1_000;
const PAGE_ENTRIES = 200;

/** Ids that are kept in memory. */
const MAX_FOUND = 100_000;

const BEGIN: DeletionState = {
  step: 'asking',
  found: 0,
  more: false,
  skipped: 0,
  gone: 0,
  confirmed: false,
  error: undefined,
};

interface DeletionOptions {
  api: Api;
  /** Called with what was deleted, after each batch. */
  onDeleted: (ids: ReadonlySet<string>) => void;
  /** What to delete: these entries, or all of an endpoint that match a filter now. */
  ids: readonly string[] | Search;
}

interface Search {
  endpointId: string;
  filter: Filter;
}

export function createDeletion({ api, onDeleted, ids: given }: DeletionOptions): Deletion {
  const search = 'endpointId' in given ? given : undefined;
  const ids: string[] = 'endpointId' in given ? [] : [...given];
  const state = createStore<DeletionState>({ ...BEGIN, found: ids.length });
  const patch = (change: Partial<DeletionState>): void => state.update((now) => ({ ...now, ...change }));
  let stop = new AbortController();
  let next: string | null | undefined;

  /** Goes through the pages of a search, the newest entry first, so what arrives meanwhile is no part of it. */
  async function find(wanted: Search): Promise<void> {
    const { signal } = stop;
    while (next !== null && ids.length < MAX_FOUND) {
      const page = await readPage(api, wanted, next, signal);
      for (const { id } of page.requests) ids.push(id);
      next = page.next === undefined ? lastOfFull(page) : page.next;
      patch({ found: ids.length, skipped: state.get().skipped + (page.body_skipped ?? 0) });
    }
    patch({ more: next !== null });
  }

  async function remove(): Promise<void> {
    const { signal } = stop;
    while (state.get().gone < ids.length) {
      if (signal.aborted) return patch({ step: 'stopped' });
      const from = state.get().gone;
      const batch = ids.slice(from, from + BATCH_IDS);
      await api.call('DELETE', '/api/requests', { ids: batch });
      patch({ gone: from + batch.length });
      onDeleted(new Set(batch));
    }
    patch({ step: 'deleted' });
  }

  async function run(): Promise<void> {
    stop = new AbortController();
    const { signal } = stop;
    try {
      if (search !== undefined && next !== null && state.get().gone === 0) {
        patch({ step: 'finding', error: undefined });
        await find(search);
      }
      if (!state.get().confirmed) return patch({ step: 'asking' });
      patch({ step: 'deleting', error: undefined });
      await remove();
    } catch (error) {
      if (signal.aborted) patch({ step: 'stopped' });
      else patch({ step: 'failed', error: messageOf(error) });
    }
  }

  function again(): void {
    const { step } = state.get();
    if (step !== 'finding' && step !== 'deleting') running = run();
  }

  let running = search === undefined ? Promise.resolve() : run();
  return {
    state,
    again,
    confirm() {
      patch({ confirmed: true });
      again();
    },
    stop() {
      stop.abort();
      return running;
    },
  };
}

async function readPage(
  api: Api,
  { endpointId, filter }: Search,
  before: string | undefined,
  signal: AbortSignal,
): Promise<Page> {
  const query = isEmpty(filter) ? new URLSearchParams() : searchQuery(filter);
  query.set('limit', String(PAGE_ENTRIES));
  query.set('bodyBytes', '0');
  if (before !== undefined) query.set('before', before);
  return (await api.get<Page>(`/api/endpoints/${endpointId}/requests`, query, signal)).body;
}

/** A list without a filter does not name what is next. */
function lastOfFull({ requests, limit }: Page): string | null {
  return requests.length < limit ? null : (requests.at(-1)?.id ?? null);
}
