/**
 * How far an endpoint has been followed. Live events come at least once and may overtake each other; `seq` counts 1, 2,
 * 3 … in each endpoint, and numbers of deleted entries stay unused.
 */
export interface Sequence {
  /** Everything up to this `seq` was received, or is not stored. */
  readonly last: number;
  /** How many events beyond a gap have been received. */
  readonly ahead: number;
  /** Takes the `seq` of an event. */
  take(seq: number): void;
  /** Everything up to `seq` was sent. */
  advance(seq: number): void;
}

export function createSequence(start: number): Sequence {
  let last = start;
  const beyond = new Set<number>();

  function advance(seq: number): void {
    if (seq > last) {
      for (const taken of beyond) if (taken <= seq) beyond.delete(taken);
      last = seq;
    }
    while (beyond.delete(last + 1)) last += 1;
  }

  return {
    get last() {
      return last;
    },
    get ahead() {
      return beyond.size;
    },
    take(seq) {
      if (seq <= last) return;
      beyond.add(seq);
      advance(last);
    },
    advance,
  };
}
