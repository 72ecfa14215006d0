import { createStore, type Store } from './store.ts';

/** The rows that are selected for something to be done with all of them; not the one that is open. */
export interface Selection {
  ids: Store<ReadonlySet<string>>;
  /** The row at the end of the range that Shift extends. */
  head(): string | undefined;
  /** Selects the rows from where the range began, or from `from`, to `head`. */
  extend(rows: readonly { id: string }[], from: string | undefined, head: string): void;
  /** Selects one more, or one less. */
  toggle(id: string): void;
  clear(): void;
}

const NONE: ReadonlySet<string> = new Set();

export function createSelection(): Selection {
  const ids = createStore(NONE);
  let range: { anchor: string; head: string } | undefined;

  return {
    ids,
    head: () => range?.head,
    extend(rows, from, head) {
      const anchor = range?.anchor ?? from ?? head;
      const ends = [anchor, head].map((id) => rows.findIndex((row) => row.id === id));
      // A row that is gone begins no range.
      const [first, last] = ends.includes(-1) ? [ends[1] as number, ends[1] as number] : ends.toSorted((a, b) => a - b);
      range = { anchor: ends[0] === -1 ? head : anchor, head };
      ids.set(new Set(rows.slice(first, (last as number) + 1).map(({ id }) => id)));
    },
    toggle(id) {
      range = { anchor: id, head: id };
      ids.update((now) => (now.has(id) ? now.difference(new Set([id])) : now.union(new Set([id]))));
    },
    clear() {
      range = undefined;
      if (ids.get().size > 0) ids.set(NONE);
    },
  };
}
