import type { EndpointRecord, LogEntry } from '../../domain/answers.ts';
import { createBook, type Book } from '../model/book.ts';
import { KEPT_BODY_BYTES, type Entry } from '../model/entry.ts';
import { createSequence, type Sequence } from '../model/sequence.ts';
import { ApiError, messageOf, type Api } from './api.ts';
import { openLive, type Live } from './live.ts';
import { createStore, onNextFrame, type Store } from './store.ts';

/** How the page hears of new captures. */
export type Link =
  | { state: 'connecting' }
  | { state: 'live' }
  /** `toGo` entries are known to be missing. */
  | { state: 'catching-up'; toGo: number }
  | { state: 'reconnecting'; retryAt: number; why: string | undefined; toGo: number }
  /** There are no live events: the list is as old as its last refresh. */
  | { state: 'not-live'; why: string };

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
  live: boolean;
  /** Why not, if it is not the installation's setting. */
  notLive?: string;
  token: () => string | undefined;
  onUnauthorized: (reason: string) => void;
}

interface Page {
  requests: LogEntry[];
  total: number;
}

const PAGE_ENTRIES = 200;

const RETRY_MS = 2_000;

/** How long an event may be overtaken by others before what is missing is asked for. */
const OVERTAKEN_MS = 1_500;

/** Failed attempts without any success before the page says that it is not live. */
const FUTILE_ATTEMPTS = 3;

export function openFeed(options: FeedOptions): Feed {
  const { api, endpointId } = options;
  const book = createBook();
  const state = createStore<FeedState>({
    version: 0,
    link: options.live ? { state: 'connecting' } : { state: 'not-live', why: options.notLive ?? SWITCHED_OFF },
    list: 'loading',
    error: undefined,
    older: 'more',
    stored: 0,
    pending: undefined,
  });
  const closed = new AbortController();
  const listeners = new Set<Added>();
  let arrivals: Entry[] = [];
  let sequence: Sequence | undefined;
  let live: Live | undefined;
  let everLive = false;
  let failures = 0;
  let following = false;
  let followAgain = false;
  let oldestId: string | undefined;

  const patch = (change: Partial<FeedState>): void => state.update((now) => ({ ...now, ...change }));
  const isClosed = (): boolean => closed.signal.aborted;

  async function readPage(before?: string): Promise<Page> {
    const query = new URLSearchParams({ limit: String(PAGE_ENTRIES), bodyBytes: String(KEPT_BODY_BYTES) });
    if (before !== undefined) query.set('before', before);
    const { body, pending } = await api.get<Page>(`/api/endpoints/${endpointId}/requests`, query, closed.signal);
    patch({ pending });
    return body;
  }

  /** The newest page. Its highest `seq` is where following begins, so nothing is missed in between. */
  async function load(): Promise<void> {
    try {
      const page = await readPage();
      addPage(page);
      oldestId ??= page.requests.at(-1)?.id;
      sequence ??= createSequence(book.entries.at(-1)?.seq ?? 0);
      patch({
        list: 'ready',
        error: undefined,
        stored: page.total,
        ...(page.requests.length < PAGE_ENTRIES && { older: 'none' as const }),
      });
    } catch (error) {
      fail(error);
    }
  }

  function addPage({ requests }: Page): void {
    add(requests, false);
  }

  function add(entries: readonly Entry[], isLive: boolean): number {
    const added = book.add(entries);
    if (added.length === 0) return 0;
    for (const listener of listeners) listener(added, isLive);
    state.update((now) => ({ ...now, version: now.version + 1 }));
    return added.length;
  }

  function fail(error: unknown): void {
    if (isClosed()) return;
    const gone = error instanceof ApiError && error.status === 404;
    patch({ list: gone ? 'gone' : state.get().list === 'ready' ? 'ready' : 'failed', error: messageOf(error) });
    if (gone) close();
  }

  function arrived(entry: Entry): void {
    if (entry.endpoint_id !== endpointId) return;
    if (arrivals.length === 0) onNextFrame(takeArrivals);
    arrivals.push(entry);
  }

  function takeArrivals(): void {
    if (isClosed()) return;
    const added = add(arrivals, true);
    for (const { seq } of arrivals) sequence?.take(seq);
    arrivals = [];
    const { link, stored } = state.get();
    const toGo = link.state === 'catching-up' ? Math.max(0, link.toGo - added) : 0;
    patch({
      stored: stored + added,
      ...(link.state === 'catching-up' && { link: { ...link, toGo } }),
    });
    if (sequence !== undefined && sequence.ahead > 0 && !following)
      setTimeout(askForMissing, OVERTAKEN_MS, sequence.last);
  }

  /** An event that was only overtaken has come meanwhile. */
  function askForMissing(last: number): void {
    if (!isClosed() && sequence?.last === last && sequence.ahead > 0) void follow();
  }

  /** Subscribes, and again until everything that was missed has come. */
  async function follow(): Promise<void> {
    if (following) return void (followAgain = true);
    following = true;
    try {
      await loading;
      if (sequence === undefined) await (loading = load());
      await catchUp();
    } catch (error) {
      if (isClosed()) return;
      patch({ error: messageOf(error) });
      setTimeout(() => void (isClosed() || follow()), RETRY_MS);
    }
    following = false;
    if (!followAgain) return;
    followAgain = false;
    void follow();
  }

  async function catchUp(): Promise<void> {
    const current = sequence;
    if (current === undefined || live === undefined) return;
    const { body: endpoint } = await api.get<EndpointRecord>(`/api/endpoints/${endpointId}`, undefined, closed.signal);
    for (let more = true; more && !isClosed();) {
      const toGo = Math.max(0, endpoint.request_count - current.last - current.ahead);
      if (toGo > 0) patch({ link: { state: 'catching-up', toGo } });
      const answer = await live.subscribe(endpointId, current.last);
      takeArrivals();
      current.advance(answer.next);
      ({ more } = answer);
    }
    patch({ link: { state: 'live' }, error: undefined });
  }

  function connect(): void {
    live = openLive(options.token, {
      connected() {
        everLive = true;
        failures = 0;
        void follow();
      },
      arrived,
      lost(why, retryAt) {
        failures += 1;
        if (!everLive && failures >= FUTILE_ATTEMPTS) patch({ link: { state: 'not-live', why: why ?? BLOCKED } });
        else patch({ link: { state: 'reconnecting', retryAt, why, toGo: 0 } });
      },
      unauthorized: options.onUnauthorized,
    });
  }

  function close(): void {
    closed.abort();
    live?.close();
  }

  let loading = load();
  if (options.live) connect();

  return {
    endpointId,
    book,
    state,
    onAdded: (listener) => void listeners.add(listener),
    async loadOlder() {
      const { older, list } = state.get();
      if (older !== 'more' || list !== 'ready' || oldestId === undefined) return;
      if (book.isFull()) return patch({ older: 'full' });
      patch({ older: 'loading' });
      try {
        const page = await readPage(oldestId);
        addPage(page);
        oldestId = page.requests.at(-1)?.id ?? oldestId;
        patch({ older: page.requests.length < PAGE_ENTRIES ? 'none' : 'more', stored: page.total });
      } catch (error) {
        patch({ older: 'more' });
        fail(error);
      }
    },
    refresh: load,
    forget(ids) {
      book.remove(ids);
      state.update((now) => ({ ...now, version: now.version + 1, stored: Math.max(0, now.stored - ids.size) }));
    },
    retry: () => live?.retry(),
    close,
  };
}

const BLOCKED = 'a WebSocket cannot be opened from here';
const SWITCHED_OFF = 'live events are switched off in this installation';
