import { insertBySeq, type Entry } from './entry.ts';

/** Entries that a list shows, and newer ones that it holds back; each once, in the order of `seq`. */
export interface RowSet {
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

export function createRowSet(): RowSet {
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
