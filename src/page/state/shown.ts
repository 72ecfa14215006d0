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
  let filter = NO_FILTER;
  let matches: (entry: Entry) => boolean = () => true;
  const set = createRowSet();
  /** Entries that do not match by what is loaded of their bodies. */
  let unsure = new Set<string>();
  /** How many entries the book has, unless some went. */
  let expected = 0;
  let run = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function publish(change: Partial<ShownState> = {}): void {
    const { rows, held } = set;
    const numbers = { held: held.length, unsure: unsure.size };
    state.update((now) => ({ ...now, version: now.version + 1, rows, ...numbers, ...change }));
  }

  function isWanted(entry: Entry): boolean {
    const does = matches(entry);
    if (!does && filter.q !== '' && entry.body_truncated === true) unsure.add(entry.id);
    return does;
  }

  function added(entries: readonly Entry[], live: boolean): void {
    expected += entries.length;
    const wanted = entries.filter(isWanted);
    set.take(wanted);
    publish({ arrived: state.get().arrived + (live ? wanted.length : 0) });
  }

  /** Only what is in the book, or was found, stays: others were deleted, or too old for the book. */
  function sweep(): void {
    expected = book.entries.length;
    const found = new Set(search.state.get().found.map(({ id }) => id));
    set.keep((id) => book.get(id) !== undefined || found.has(id));
    if (unsure.size > 0) unsure = new Set([...unsure].filter((id) => book.get(id) !== undefined));
  }

  function sweepNow(): void {
    clearTimeout(timer);
    timer = undefined;
    sweep();
    publish();
  }

  /** Goes through all loaded entries, newest first: what was looked at is shown at once. */
  async function rebuild(): Promise<void> {
    const mine = (run += 1);
    set.clear();
    unsure = new Set();
    const all = [...book.entries];
    for (let to = all.length; to > 0;) {
      const end = performance.now() + SLICE_MS;
      const from = to;
      const part: Entry[] = [];
      while (to > 0 && (to === from || performance.now() < end)) {
        to -= 1;
        const entry = all[to] as Entry;
        if (isWanted(entry)) part.push(entry);
      }
      set.take(part.toReversed());
      publish({ filtering: to > 0 });
      if (to > 0) await new Promise((resolve) => setTimeout(resolve));
      if (run !== mine) return;
    }
    sweep();
    publish({ filtering: false });
  }

  onAdded(added);
  const leave = [
    feedState.subscribe(() => {
      if (book.entries.length === expected) return;
      if (book.isFull()) timer ??= setTimeout(sweepNow, FULL_SWEEP_MS);
      else sweepNow();
    }),
    search.state.subscribe(() => {
      set.take(search.state.get().found.toSorted((a, b) => a.seq - b.seq));
      sweepNow();
    }),
  ];
  return {
    state,
    filter(next) {
      if (equals(next, filter)) return;
      filter = next;
      matches = matcher(next);
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
