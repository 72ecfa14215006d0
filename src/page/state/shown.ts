import { insertBySeq, type Entry } from '../model/entry.ts';
import { isEmpty, matcher, type Filter } from '../model/filter.ts';
import type { Feed } from './feed.ts';
import type { Search } from './search.ts';
import { createStore, type Store } from './store.ts';

/** The rows of the list. */
export interface ShownState {
  version: number;
  /** Entries that match, in the order of `seq`, so the list shows the last one first. It changes in place. */
  rows: readonly Entry[];
  /** Whether the filter has not looked at all loaded entries yet. */
  filtering: boolean;
  /** Whether new entries are kept out of the list, and how many of those match. */
  paused: boolean;
  held: number;
}

export interface Shown {
  state: Store<ShownState>;
  filter(filter: Filter): void;
  pause(paused: boolean): void;
  close(): void;
}

/** A filter looks at loaded entries in slices, so that typing is never held up. */
const SLICE_MS = 8;

/** What of a feed, and of a search, is in the list. */
export function createShown(feed: Feed, search: Search): Shown {
  const state = createStore<ShownState>({ version: 0, rows: [], filtering: false, paused: false, held: 0 });
  let filter: Filter | undefined;
  let matches: (entry: Entry) => boolean = () => true;
  let rows: Entry[] = [];
  let ids = new Set<string>();
  let held: Entry[] = [];
  let run = 0;

  function publish(change: Partial<ShownState> = {}): void {
    state.update((now) => ({ ...now, version: now.version + 1, rows, held: held.length, ...change }));
  }

  function show(entries: readonly Entry[]): void {
    const fresh = entries.filter(({ id }) => !ids.has(id));
    for (const { id } of fresh) ids.add(id);
    insertBySeq(rows, fresh);
  }

  function added(entries: readonly Entry[], live: boolean): void {
    const wanted = entries.filter(matches);
    if (live && state.get().paused) held.push(...wanted);
    else show(wanted);
    publish();
  }

  /** What the book had to drop, or what was deleted, leaves the list too. */
  function dropMissing(): void {
    const oldest = feed.book.entries[0]?.seq ?? 0;
    const isThere = ({ id, seq }: Entry): boolean => feed.book.get(id) !== undefined || seq < oldest;
    if (filter === undefined && rows.length + held.length <= feed.book.entries.length) return;
    const stays = filter === undefined ? ({ id }: Entry) => feed.book.get(id) !== undefined : isThere;
    rows = rows.filter(stays);
    held = held.filter(stays);
    ids = new Set(rows.map(({ id }) => id));
  }

  /** Goes through all loaded entries, newest first: what was looked at is shown at once. */
  async function rebuild(): Promise<void> {
    const mine = (run += 1);
    rows = [];
    ids = new Set();
    held = [];
    const all = [...feed.book.entries];
    for (let to = all.length; to > 0;) {
      const end = performance.now() + SLICE_MS;
      const part: Entry[] = [];
      while (to > 0 && performance.now() < end) {
        to -= 1;
        const entry = all[to] as Entry;
        if (matches(entry)) part.push(entry);
      }
      show(part.toReversed());
      publish({ filtering: to > 0 });
      if (to > 0) await new Promise((resolve) => setTimeout(resolve));
      if (run !== mine) return;
    }
    show(search.state.get().found);
    publish({ filtering: false });
  }

  feed.onAdded(added);
  const leave = [
    feed.state.subscribe(() => {
      dropMissing();
      publish();
    }),
    search.state.subscribe(() => {
      if (search.state.get().found.length > 0) show(search.state.get().found);
      publish();
    }),
  ];
  return {
    state,
    filter(next) {
      filter = isEmpty(next) ? undefined : next;
      matches = filter === undefined ? () => true : matcher(filter);
      void rebuild();
    },
    pause(paused) {
      if (!paused) show(held);
      held = [];
      publish({ paused });
    },
    close() {
      run += 1;
      for (const end of leave) end();
    },
  };
}
