import { insertBySeq, type Entry } from '../model/entry.ts';
import { equals, matcher, NO_FILTER, type Filter } from '../model/filter.ts';
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
  /** How many entries came live and match, since the list was opened. */
  arrived: number;
  /** Loaded entries that do not match by what is loaded of their bodies. */
  unsure: number;
}

export interface Shown {
  state: Store<ShownState>;
  filter(filter: Filter): void;
  pause(paused: boolean): void;
  close(): void;
}

type ShownFeed = Pick<Feed, 'book' | 'state' | 'onAdded'>;
type ShownSearch = Pick<Search, 'state' | 'stop'>;

/** A filter looks at loaded entries in slices, so that typing is never held up. */
const SLICE_MS = 8;

/** A full book drops entries with each arrival: looking for all rows each time would cost 3 ms a frame. */
const FULL_SWEEP_MS = 500;

const EMPTY: ShownState = {
  version: 0,
  rows: [],
  filtering: false,
  paused: false,
  held: 0,
  arrived: 0,
  unsure: 0,
};

/** What of a feed, and of a search, is in the list. */
export function createShown({ book, state: feedState, onAdded }: ShownFeed, search: ShownSearch): Shown {
  const state = createStore(EMPTY);
  const matching = createMatching();
  const set = createRowSet();
  /** How many entries the book has, unless some went. */
  let expected = 0;
  let run = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function publish(change: Partial<ShownState> = {}): void {
    const { rows, held } = set;
    const numbers = { held: held.length, unsure: matching.unsure() };
    state.update((now) => ({ ...now, version: now.version + 1, rows, ...numbers, ...change }));
  }

  /** Only what is in the book, or was found, stays: others were deleted, or too old for the book. */
  function sweep(): void {
    clearTimeout(timer);
    timer = undefined;
    expected = book.entries.length;
    const isLoaded = (id: string): boolean => book.get(id) !== undefined;
    const found = new Set(search.state.get().found.map(({ id }) => id));
    set.keep((id) => isLoaded(id) || found.has(id));
    matching.keep(isLoaded);
    publish();
  }

  /** Goes through all loaded entries: what was looked at is shown at once. */
  async function rebuild(): Promise<void> {
    const mine = (run += 1);
    set.clear();
    for await (const { wanted, isLast } of inSlices([...book.entries], (entry) => matching.isWanted(entry))) {
      if (run !== mine) return;
      set.take(wanted);
      publish({ filtering: !isLast });
    }
    sweep();
  }

  onAdded((entries, live) => {
    expected += entries.length;
    const wanted = entries.filter((entry) => matching.isWanted(entry));
    set.take(wanted);
    publish({ arrived: state.get().arrived + (live ? wanted.length : 0) });
  });
  const leave = [
    feedState.subscribe(() => {
      if (book.entries.length === expected) return;
      if (book.isFull()) timer ??= setTimeout(sweep, FULL_SWEEP_MS);
      else sweep();
    }),
    search.state.subscribe(() => {
      set.take(search.state.get().found.toSorted((a, b) => a.seq - b.seq));
      sweep();
    }),
  ];
  return {
    state,
    filter(next) {
      if (!matching.change(next)) return;
      search.stop();
      void rebuild();
    },
    pause(paused) {
      if (paused === state.get().paused) return;
      set.holdBeyond(paused ? (book.entries.at(-1)?.seq ?? 0) : undefined);
      publish({ paused });
    },
    close() {
      run += 1;
      clearTimeout(timer);
      for (const end of leave) end();
    },
  };
}

/** Which entries a filter wants. */
function createMatching() {
  let filter = NO_FILTER;
  let matches = matcher(filter);
  /** Entries that do not match by what is loaded of their bodies. */
  let unsure = new Set<string>();
  return {
    unsure: () => unsure.size,
    /** Says whether it is another filter. */
    change(next: Filter): boolean {
      if (equals(next, filter)) return false;
      filter = next;
      matches = matcher(next);
      unsure = new Set();
      return true;
    },
    isWanted(entry: Entry): boolean {
      const does = matches(entry);
      if (!does && filter.q !== '' && entry.body_truncated === true) unsure.add(entry.id);
      return does;
    },
    keep(isThere: (id: string) => boolean): void {
      if (unsure.size > 0) unsure = new Set([...unsure].filter(isThere));
    },
  };
}

/** What is wanted of entries, from the newest on; each slice in the order of `seq`, and at least one of them. */
async function* inSlices(all: readonly Entry[], isWanted: (entry: Entry) => boolean) {
  let to = all.length;
  do {
    const end = performance.now() + SLICE_MS;
    const wanted: Entry[] = [];
    for (const from = to; to > 0 && (to === from || performance.now() < end);) {
      to -= 1;
      const entry = all[to] as Entry;
      if (isWanted(entry)) wanted.push(entry);
    }
    yield { wanted: wanted.toReversed(), isLast: to === 0 };
    if (to > 0) await new Promise((resolve) => setTimeout(resolve));
  } while (to > 0);
}

/** Entries that a list shows, and newer ones that it holds back; each once, in the order of `seq`. */
interface RowSet {
  /** It changes in place. */
  readonly rows: readonly Entry[];
  readonly held: readonly Entry[];
  /** Takes in entries, which are in the order of `seq`. */
  take(entries: readonly Entry[]): void;
  /** Takes out what is not there any more. */
  keep(isThere: (id: string) => boolean): void;
  /** Holds back what has a higher `seq`, or nothing. */
  holdBeyond(seq: number | undefined): void;
  clear(): void;
}

function createRowSet(): RowSet {
  let rows: Entry[] = [];
  let held: Entry[] = [];
  const ids = new Set<string>();
  let limit = Infinity;

  function kept(entries: Entry[], isThere: (id: string) => boolean): Entry[] {
    return entries.filter(({ id }) => {
      const stays = isThere(id);
      if (!stays) ids.delete(id);
      return stays;
    });
  }

  return {
    get rows() {
      return rows;
    },
    get held() {
      return held;
    },
    take(entries) {
      const fresh = entries.filter(({ id }) => !ids.has(id));
      for (const { id } of fresh) ids.add(id);
      const { shown = [], later = [] } = Object.groupBy(fresh, ({ seq }) => (seq > limit ? 'later' : 'shown'));
      insertBySeq(rows, shown);
      insertBySeq(held, later);
    },
    keep(isThere) {
      rows = kept(rows, isThere);
      held = kept(held, isThere);
    },
    holdBeyond(seq = Infinity) {
      limit = seq;
      insertBySeq(rows, held);
      held = [];
    },
    clear() {
      [rows, held] = [[], []];
      ids.clear();
    },
  };
}
