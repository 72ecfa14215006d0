/** The lines of a text, made when they are asked for: most of a large body is never looked at. */
export interface LineSource<T> {
  line(number: number): T | undefined;
  /** How many lines there are in all. */
  count: number;
}

const CHUNK_LINES = 2_000;

/** @param read lines from a number on, and then a last one with the count of those that follow, if there are any */
export function createLineSource<T extends { more?: number }>(
  read: (from: number, lines: number) => T[],
): LineSource<T> {
  const chunks = new Map<number, T[]>();

  function chunk(index: number): T[] {
    const known = chunks.get(index);
    if (known !== undefined) return known;
    const made = read(index * CHUNK_LINES, CHUNK_LINES);
    chunks.set(index, made);
    return made;
  }

  const first = chunk(0);
  const more = first.at(-1)?.more;
  const count = more === undefined ? first.length : first.length - 1 + more;
  return {
    count,
    line: (number) => (number < count ? chunk(Math.floor(number / CHUNK_LINES))[number % CHUNK_LINES] : undefined),
  };
}
