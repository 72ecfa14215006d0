import type { EndpointRecord } from '../../domain/answers.ts';
import { createBook, type Book } from '../model/book.ts';
import type { Entry } from '../model/entry.ts';
import { ApiError, messageOf, type Api } from './api.ts';
import type { Following } from './following.ts';
import type { Link } from './link.ts';
import { createPages, type Page, type Pages } from './pages.ts';
import { createStore, type Store } from './store.ts';

export interface FeedState {
  /** Counts the changes of the book. */
  version: number;
  link: Link;
  list: 'loading' | 'ready' | 'failed' | 'gone';
  error: string | undefined;
  /** What is older than the oldest entry of the book. */
  older: 'more' | 'loading' | 'none' | 'full';
  /** Entries that the server stores, as far as the page knows. */
  stored: number;
  /** See `Answer.pending`. */
  pending: string | undefined;
  /** When the newest page was read last (Unix milliseconds). */
  refreshedAt: number;
}

/** The entries of one endpoint: what is stored, page by page, and what arrives. */
export interface Feed {
  endpointId: string;
  book: Book;
  state: Store<FeedState>;
  /** Called with what is new in the book, in the order of `seq`, and whether it arrived live. */
  onAdded(listener: Added): void;
  loadOlder(): Promise<void>;
  /** Reads the newest page again; for when there are no live events. */
  refresh(): Promise<void>;
  /** Takes out entries that are deleted. */
  forget(ids: ReadonlySet<string>): void;
  /** Connects again at once. */
  retry(): void;
  close(): void;
}

type Added = (entries: readonly Entry[], live: boolean) => void;

export interface FeedOptions {
  api: Api;
  endpointId: string;
  /** Why there are no live events. */
  notLive: string | undefined;
  token: () => string | undefined;
  onUnauthorized: (reason: string) => void;
}

/** Why there are no live events when their code does not come. */
const NOT_LOADED = 'a part of the page could not be loaded';

/** How often it is asked whether captures still wait to be stored, once it is known that some do. */
const PENDING_MS = 3_000;

export function openFeed(options: FeedOptions): Feed {
  const { api, endpointId } = options;
  const closed = new AbortController();
  const content = createContent(options.notLive);
  const { book, state, patch } = content;
  const setPending = watchPending(content, async () => void (closed.signal.aborted || (await latest().catch(fail))));
  const { load, loadOlder } = createLoading(content, createPages(api, endpointId, closed.signal), setPending, fail);

  function fail(error: unknown): void {
    if (closed.signal.aborted) return;
    content.fail(error);
    if (state.get().list === 'gone') close();
  }

  async function latest(): Promise<number> {
    const path = `/api/endpoints/${endpointId}`;
    const { body, pending } = await api.get<EndpointRecord>(path, undefined, closed.signal);
    setPending(pending);
    return body.request_count;
  }

  function close(): void {
    closed.abort();
    following?.close();
  }

  const loaded = load();
  /** It begins at the highest `seq` of the newest page, so nothing is missed in between. */
  async function start(): Promise<number> {
    await loaded;
    if (state.get().list !== 'ready') await load();
    if (state.get().list !== 'ready') throw new Error(state.get().error);
    return book.entries.at(-1)?.seq ?? 0;
  }
  let following: Following | undefined;
  /** Its code, with Socket.IO, comes after the first rows, which people wait for. */
  async function startFollowing(): Promise<void> {
    if (options.notLive !== undefined || following !== undefined) return;
    const read = await import('./following.ts').catch(() => patch({ link: { state: 'not-live', why: NOT_LOADED } }));
    if (read === undefined || closed.signal.aborted || following !== undefined) return;
    following = read.follow({ ...options, ...content.arriving, start, latest, fail });
  }
  void loaded.then(startFollowing);

  async function refresh(): Promise<void> {
    await load();
    await startFollowing();
  }

  return { ...content, endpointId, loadOlder, refresh, retry: () => following?.retry(), close };
}

/** Reads pages into the book, one after another or what is new since. */
function createLoading(
  { book, state, patch, add, forget }: Content,
  pages: Pages,
  setPending: (pending: string | undefined) => void,
  fail: (error: unknown) => void,
) {
  async function load(): Promise<void> {
    try {
      const page = await pages.newest((id) => book.get(id) !== undefined);
      if (page === undefined) return await loadAnew();
      const isFirst = book.entries.length === 0;
      show(page, page.isLast ? { older: 'none' } : isFirst ? { older: 'more' } : {});
    } catch (error) {
      fail(error);
    }
  }

  /** So much is new that what the list has would be an island. */
  async function loadAnew(): Promise<void> {
    forget(new Set(book.entries.map(({ id }) => id)));
    pages.forget();
    patch({ older: 'more' });
    await load();
  }

  async function loadOlder(): Promise<void> {
    const { older, list } = state.get();
    if (older !== 'more' || list !== 'ready') return;
    if (book.isFull()) return patch({ older: 'full' });
    patch({ older: 'loading' });
    try {
      const page = await pages.older();
      show(page, { older: page.isLast ? 'none' : 'more' });
    } catch (error) {
      patch({ older: 'more' });
      fail(error);
    }
  }

  function show({ requests, total, pending }: Page, change: Partial<FeedState>): void {
    add(requests, false);
    patch({ list: 'ready', error: undefined, stored: total, refreshedAt: Date.now(), ...change });
    setPending(pending);
  }

  return { load, loadOlder };
}

/** While captures wait to be stored, the page asks again: what it was told is said no longer than it is true. */
function watchPending({ state, patch }: Content, askAgain: () => Promise<void>) {
  return (pending: string | undefined): void => {
    const wasPending = state.get().pending !== undefined;
    patch({ pending });
    if (pending === undefined || wasPending) return;
    setTimeout(() => {
      patch({ pending: undefined });
      void askAgain();
    }, PENDING_MS);
  };
}

type Content = ReturnType<typeof createContent>;

/** The book of a feed, and what is said of it. */
function createContent(notLive: string | undefined) {
  const book = createBook();
  const listeners = new Set<Added>();
  const state = createStore<FeedState>({
    version: 0,
    link: notLive === undefined ? { state: 'connecting' } : { state: 'not-live', why: notLive },
    list: 'loading',
    error: undefined,
    older: 'more',
    stored: 0,
    pending: undefined,
    refreshedAt: 0,
  });
  const patch = (change: Partial<FeedState>): void => state.update((now) => ({ ...now, ...change }));

  function add(entries: readonly Entry[], isLive: boolean): number {
    const added = book.add(entries);
    if (added.length === 0) return 0;
    for (const listener of listeners) listener(added, isLive);
    const { version, stored } = state.get();
    patch({ version: version + 1, stored: isLive ? stored + added.length : stored });
    return added.length;
  }

  return {
    book,
    state,
    patch,
    add,
    onAdded: (listener: Added) => void listeners.add(listener),
    arriving: {
      take: (entries: readonly Entry[]) => add(entries, true),
      show: (link: Link) => patch({ link, ...(link.state === 'live' && { error: undefined }) }),
    },
    forget(ids: ReadonlySet<string>): void {
      const before = book.entries.length;
      book.remove(ids);
      const { version, stored } = state.get();
      patch({ version: version + 1, stored: Math.max(0, stored - (before - book.entries.length)) });
    },
    fail(error: unknown): void {
      const gone = error instanceof ApiError && error.status === 404;
      const isReady = state.get().list === 'ready';
      patch({ list: gone ? 'gone' : isReady ? 'ready' : 'failed', error: messageOf(error) });
    },
  };
}
