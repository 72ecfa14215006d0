/** The items that are open at the moment. */
export interface Roster<T> extends Iterable<T> {
  size(): number;
  /** Returns a function that removes the item; a second call has no effect. */
  add(item: T): () => void;
}

/**
 * For short-lived items in large numbers, in place of a Set: V8 replaces the table of a Set again and again while items
 * come and go, and each old table links to the next one. Once one is in the old generation, all after it and what they
 * held get there too, and wait for a full garbage collection.
 */
export function createRoster<T>(): Roster<T> {
  const entries: { item: T; place: number }[] = [];

  return {
    size: () => entries.length,
    add(item) {
      const entry = { item, place: entries.length };
      entries.push(entry);
      return () => {
        if (entries[entry.place] !== entry) return;
        const last = entries.pop() as typeof entry;
        if (last === entry) return;
        entries[entry.place] = last;
        last.place = entry.place;
      };
    },
    [Symbol.iterator]: () => entries.map(({ item }) => item).values(),
  };
}
