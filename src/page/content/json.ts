import { numberEnd, skipSpace, stringEnd, UNFINISHED, wordEnd } from './json-scan.ts';

export interface JsonToken {
  kind: 'key' | 'string' | 'number' | 'word' | 'punctuation' | 'error';
  /** As in the source. */
  text: string;
}

/** A line of pretty-printed JSON. Lines are numbered over the whole text, from 0. */
export interface JsonLine {
  indent: number;
  tokens: JsonToken[];
  /** Of the value on this line, like `$.a.b[0]`. */
  path: string;
  /** Of a line that opens an object or array: the number of the line that closes it, where there is one. */
  close?: number;
  /** Of such a line: how many members or elements there are. */
  members?: number;
  /** Only of the last line, which has no tokens: how many lines follow. */
  more?: number;
}

export interface JsonLimits {
  /** The number of the first line. */
  from?: number;
  lines?: number;
  depth?: number;
}

interface Frame {
  isArray: boolean;
  path: string;
  members: number;
  /** The name of the current member, as in the source. */
  key: string;
  line: JsonLine | undefined;
}

interface Printer {
  text: string;
  at: number;
  stack: Frame[];
  maxDepth: number;
  lines: JsonLine[];
  from: number;
  to: number;
  /** Lines begun so far. */
  count: number;
  /** Undefined where it isn't wanted. */
  line: JsonLine | undefined;
  fault?: 'invalid' | 'unfinished' | 'deep';
}

type Next = 'item' | 'after' | 'end';

const MAX_LINES = 2_000;
const MAX_DEPTH = 200;

/** A name that the API's filter takes in a path. */
const PLAIN_NAME = /^[^.[\]="\s]{1,100}$/;
const FILTER_PATH = /^\$(?:\.[^.[\]="\s]{1,100}|\[\d{1,6}\]){1,10}$/;

/** What may be left of a number or word whose end is missing, behind the longest number. */
const TOKEN_START = /^(?:[-+.\deE]{0,2}|tr?u?|fa?l?s?|nu?l?)$/;

/**
 * JSON as lines for reading, its tokens exactly as they were sent. Invalid JSON ends in an error token, which is all
 * the rest of the text; so does JSON that is nested too deep.
 */
export function jsonLines(text: string, limits: JsonLimits = {}): JsonLine[] {
  const { lines, count, to } = print(text, limits);
  return count > to ? [...lines, { indent: 0, tokens: [], path: '$', more: count - to }] : lines;
}

/** @param cut whether the end of the text is missing */
export function isJson(text: string, cut = false): boolean {
  const { fault, at } = print(text, { from: Infinity });
  if (fault === undefined || fault === 'deep') return true;
  return cut && (fault === 'unfinished' || TOKEN_START.test(text.slice(at, at + 5)));
}

/** Whether `json=<path>=<value>` of the API finds values at the path of a line. */
export function isFilterPath(path: string): boolean {
  return FILTER_PATH.test(path);
}

/** What a string or key means, without its quotes and escapes. */
export function jsonString({ text }: JsonToken): string {
  return unquoted(text);
}

function print(text: string, { from = 0, lines = MAX_LINES, depth = MAX_DEPTH }: JsonLimits): Printer {
  const printer: Printer = {
    text,
    at: text.startsWith('\ufeff') ? 1 : 0,
    stack: [],
    maxDepth: depth,
    lines: [],
    from,
    to: from + lines,
    count: 0,
    line: undefined,
  };
  for (let next: Next = 'item'; next !== 'end';) next = next === 'item' ? readItem(printer) : readAfter(printer);
  const rest = skipSpace(text, printer.at);
  if (rest < text.length) printer.line?.tokens.push({ kind: 'error', text: text.slice(rest) });
  return printer;
}

/** The top value, a member or an element. */
function readItem(p: Printer): Next {
  const frame = p.stack.at(-1);
  begin(p);
  if (frame !== undefined) frame.members += 1;
  if (frame?.isArray === false) {
    const start = skipSpace(p.text, p.at);
    if (!put(p, 'key', stringEnd(p.text, start))) return 'end';
    frame.key = p.text.slice(start, p.at);
    if (!putCharacter(p, ':')) return 'end';
  }
  if (p.line !== undefined) p.line.path = itemPath(frame);
  return readValue(p, frame);
}

function readValue(p: Printer, frame: Frame | undefined): Next {
  const { text } = p;
  const at = skipSpace(text, p.at);
  const first = text[at];
  if (first === '{' || first === '[') return readOpening(p, frame, first === '[');
  if (first === '"') return put(p, 'string', stringEnd(text, at)) ? 'after' : 'end';
  const isWord = first !== undefined && first >= 'a';
  return put(p, isWord ? 'word' : 'number', isWord ? wordEnd(text, at) : numberEnd(text, at)) ? 'after' : 'end';
}

function readOpening(p: Printer, outer: Frame | undefined, isArray: boolean): Next {
  if (p.stack.length === p.maxDepth) {
    p.fault = 'deep';
    return 'end';
  }
  putCharacter(p, isArray ? '[' : '{');
  const closing = isArray ? ']' : '}';
  if (p.text[skipSpace(p.text, p.at)] === closing) {
    putCharacter(p, closing);
    return 'after';
  }
  p.stack.push({ isArray, path: itemPath(outer), members: 0, key: '', line: p.line });
  return 'item';
}

function readAfter(p: Printer): Next {
  const frame = p.stack.at(-1);
  const next = p.text[skipSpace(p.text, p.at)];
  if (frame === undefined) {
    if (next !== undefined) p.fault = 'invalid';
    return 'end';
  }
  if (next === ',') return putCharacter(p, ',') ? 'item' : 'end';
  const closing = frame.isArray ? ']' : '}';
  if (next !== closing) {
    p.fault = 'invalid';
    return 'end';
  }
  p.stack.pop();
  begin(p);
  if (frame.line !== undefined) Object.assign(frame.line, { close: p.count - 1, members: frame.members });
  if (p.line !== undefined) p.line.path = frame.path;
  return putCharacter(p, closing) ? 'after' : 'end';
}

function begin(p: Printer): void {
  const isWanted = p.count >= p.from && p.count < p.to;
  p.line = isWanted ? { indent: p.stack.length, tokens: [], path: p.stack.at(-1)?.path ?? '$' } : undefined;
  if (p.line !== undefined) p.lines.push(p.line);
  p.count += 1;
}

function putCharacter(p: Printer, character: string): boolean {
  const at = skipSpace(p.text, p.at);
  return put(p, 'punctuation', p.text[at] === character ? at + 1 : -1);
}

/** Whether there is such a token; it ends at `end`. */
function put(p: Printer, kind: JsonToken['kind'], end: number): boolean {
  if (end < 0) {
    p.fault = end === UNFINISHED ? 'unfinished' : 'invalid';
    p.at = skipSpace(p.text, p.at);
    return false;
  }
  p.line?.tokens.push({ kind, text: p.text.slice(skipSpace(p.text, p.at), end) });
  p.at = end;
  return true;
}

function itemPath(frame: Frame | undefined): string {
  if (frame === undefined) return '$';
  if (frame.isArray) return `${frame.path}[${frame.members - 1}]`;
  const name = frame.key.includes('\\') ? unquoted(frame.key) : frame.key.slice(1, -1);
  return PLAIN_NAME.test(name) ? `${frame.path}.${name}` : `${frame.path}[${frame.key}]`;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
