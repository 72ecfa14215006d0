import { bytesOf, insertBySeq, type Entry } from './entry.ts';

/** What the page keeps at most; beyond it the oldest entries go. */
const MAX_ENTRIES = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** The entries of one endpoint that the page has, each once. */
export interface Book {
  /** In the order of `seq`, the newest one last. It changes in place. */
  readonly entries: readonly Entry[];
  get(id: string): Entry | undefined;
  /** Adds what is new, and returns that, in the order of `seq`. */
  add(entries: readonly Entry[]): Entry[];
  remove(ids: ReadonlySet<string>): void;
  /** Whether older entries had to go, so that no older ones fit either. */
  isFull(): boolean;
}

export function createBook(maxEntries = MAX_ENTRIES, maxBytes = MAX_BYTES): Book {
  const entries: Entry[] = [];
  const byId = new Map<string, Entry>();
  let bytes = 0;
  let full = false;

  function dropOldest(): void {
    let drop = 0;
    while (entries.length - drop > maxEntries || (bytes > maxBytes && entries.length - drop > 1)) {
      const entry = entries[drop] as Entry;
      bytes -= bytesOf(entry);
      byId.delete(entry.id);
      drop += 1;
    }
    if (drop === 0) return;
    full = true;
    entries.splice(0, drop);
  }

  return {
    entries,
    get: (id) => byId.get(id),
    isFull: () => full,
    add(given) {
      const oldest = entries[0]?.seq ?? Infinity;
      const fresh = given
        .filter(({ id, seq }) => !byId.has(id) && !(full && seq < oldest))
        .toSorted((a, b) => a.seq - b.seq);
      const added = fresh.filter((entry, i) => entry.id !== fresh[i - 1]?.id);
      for (const entry of added) {
        byId.set(entry.id, entry);
        bytes += bytesOf(entry);
      }
      insertBySeq(entries, added);
      dropOldest();
      return added;
    },
    remove(ids) {
      for (const id of ids) {
        const entry = byId.get(id);
        if (entry === undefined) continue;
        bytes -= bytesOf(entry);
        byId.delete(id);
      }
      const kept = entries.filter(({ id }) => !ids.has(id));
      entries.splice(0, entries.length, ...kept);
    },
  };
}
