import { jsonLines, type JsonLine } from '../../../content/json.ts';

/** The lines of a JSON text, made when they are asked for: most of a large body is never looked at. */
export interface JsonSource {
  line(number: number): JsonLine | undefined;
  /** How many lines there are in all. */
  count: number;
}

const CHUNK_LINES = 2_000;

export function createJsonSource(text: string): JsonSource {
  const chunks = new Map<number, JsonLine[]>();
  let count = 0;

  function chunk(index: number): JsonLine[] {
    const known = chunks.get(index);
    if (known !== undefined) return known;
    const from = index * CHUNK_LINES;
    const read = jsonLines(text, { from, lines: CHUNK_LINES });
    const more = read.at(-1)?.more ?? 0;
    const made = more === 0 ? read : read.slice(0, -1);
    count = from + made.length + more;
    chunks.set(index, made);
    return made;
  }

  chunk(0);
  return {
    line: (number) => (number < count ? chunk(Math.floor(number / CHUNK_LINES))[number % CHUNK_LINES] : undefined),
    count,
  };
}
