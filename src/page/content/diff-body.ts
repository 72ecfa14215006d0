import { diffLines, type ChangeObject } from 'diff';
import type { LogEntry } from '../../domain/answers.ts';
import { bodyBytes, decodeText, type Bytes } from './bytes.ts';
import { isJson, jsonLines } from './json.ts';

export interface DiffLine {
  /** In both, only in a, or only in b. */
  kind: 'same' | 'a' | 'b';
  text: string;
}

export interface BodyDifference {
  /** Of cut bodies: whether what is there is the same, and the sizes too. */
  identical: boolean;
  /** Undefined where nothing differs, or where `note` says why there are none. */
  lines?: DiffLine[];
  /** Both are JSON, compared by member; a comma at the end of a line is left out. */
  pretty: boolean;
  /** How many lines follow. */
  more: number;
  note?: string;
}

type Body = Pick<LogEntry, 'body' | 'body_encoding' | 'body_truncated' | 'size'>;

const MAX_CHARACTERS = 1024 * 1024;
const MAX_LINES = 2_000;
const MAX_PRETTY_LINES = 20_000;

/** The first bound decides; the second is for texts of a few lines again and again, which are slow to compare. */
const LIMITS = { maxEditLength: 1_000, timeout: 80 };

/** In steps, so that no two of them hold up the page together. */
export async function compareBodies(a: Body, b: Body): Promise<BodyDifference> {
  const note = a.body_truncated || b.body_truncated ? 'Only the beginning of the body is compared.' : undefined;
  if (a.body === b.body && a.body_encoding === b.body_encoding && a.size === b.size)
    return { identical: true, pretty: false, more: 0, ...(note !== undefined && { note }) };
  const [left, right] = [bodyBytes(a), bodyBytes(b)];
  const [leftText, rightText] = [decodeText(left), decodeText(right)];
  if (leftText === undefined || rightText === undefined) return without(binaryNote(left, right));
  if (leftText.length + rightText.length > MAX_CHARACTERS)
    return without('The bodies are too large to compare by lines.');
  const pretty = isPrintable(leftText, a) && (await nextTask(() => isPrintable(rightText, b)));
  const leftLines = await nextTask(() => linesOf(leftText, pretty));
  const rightLines = await nextTask(() => linesOf(rightText, pretty));
  return { pretty, ...(await nextTask(() => compareTexts(leftLines, rightLines, pretty, note))) };
}

function nextTask<T>(work: () => T): Promise<T> {
  return new Promise((resolve, reject) => setTimeout(() => Promise.try(work).then(resolve, reject)));
}

function compareTexts(a: string, b: string, pretty: boolean, note?: string): Omit<BodyDifference, 'pretty'> {
  if (a === b && note === undefined) {
    const what = pretty ? 'space between the tokens of the JSON' : 'line break at the end';
    return { identical: false, more: 0, note: `Only the ${what} differs.` };
  }
  const changes = diffLines(a, b, LIMITS);
  if (changes === undefined) return without('The bodies differ too much to compare by lines.');
  return { identical: false, ...diffLinesOf(changes), ...(note !== undefined && { note }) };
}

/** Whether a text is JSON that is short enough for lines of its own. */
function isPrintable(text: string, { body_truncated }: Body): boolean {
  if (!/^\s*[[{]/.test(text) || !isJson(text, body_truncated)) return false;
  return jsonLines(text, { from: MAX_PRETTY_LINES, lines: 1 }).length === 0;
}

/** Each line ends in a line break. */
function linesOf(text: string, pretty: boolean): string {
  if (pretty) return memberLines(text);
  return text.endsWith('\n') || text === '' ? text : `${text}\n`;
}

function without(note: string): BodyDifference {
  return { identical: false, pretty: false, more: 0, note };
}

function binaryNote(a: Bytes, b: Bytes): string {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at += 1;
  const sizes = `their sizes are ${a.length} and ${b.length} bytes`;
  return `The bodies are not both text. They differ from byte ${at} on; ${sizes}.`;
}

/** Without commas at the ends, which would change where a member is added behind. */
function memberLines(text: string): string {
  return jsonLines(text, { lines: MAX_PRETTY_LINES })
    .map(({ indent, tokens }) => {
      const isLast = tokens.at(-1)?.text !== ',';
      const line = tokens.slice(0, isLast ? undefined : -1).map((token) => (token.text === ':' ? ': ' : token.text));
      return `${'  '.repeat(indent)}${line.join('')}\n`;
    })
    .join('');
}

function diffLinesOf(changes: ChangeObject<string>[]): { lines: DiffLine[]; more: number } {
  const lines: DiffLine[] = [];
  let count = 0;
  for (const { added, removed, value } of changes) {
    const kind = added ? 'b' : removed ? 'a' : 'same';
    for (const text of value.replace(/\n$/, '').split('\n')) {
      count += 1;
      if (lines.length < MAX_LINES) lines.push({ kind, text });
    }
  }
  return { lines, more: count - lines.length };
}
