import { xmlNodes, type XmlNode } from './xml-scan.ts';

export interface XmlToken {
  kind: 'tag' | 'attribute' | 'value' | 'text' | 'comment' | 'cdata' | 'doctype' | 'instruction';
  /** As in the source. */
  text: string;
}

export interface XmlLine {
  indent: number;
  tokens: XmlToken[];
  /** Only of the last line, which has no tokens: how many lines follow. */
  more?: number;
}

export interface XmlLimits {
  /** The number of the first line. */
  from?: number;
  lines?: number;
  /** Whether the end of the text is missing. */
  cut?: boolean;
}

const MAX_LINES = 2_000;
const MAX_DEPTH = 200;
/** Of one line: attributes, or pieces of text. */
const MAX_PIECES = 200;

const NAME = /^<\/?([^\s/>]+)/;
const ATTRIBUTE = /(\s[^\s=<>"'/]+\s*=\s*)("[^"]*"|'[^']*')/g;

interface Printer {
  lines: XmlLine[];
  from: number;
  to: number;
  /** Lines begun so far. */
  count: number;
  /** Undefined where it isn't wanted. */
  line: XmlLine | undefined;
  /** The names of open elements. */
  stack: string[];
  /** Text that may stand beside its tags, or on a line of its own. */
  pending: XmlToken[];
  /** Whether the line has but an opening tag. */
  isOpening: boolean;
}

/**
 * XML as lines for reading: tags indented, text alone in an element beside its tags. Nothing is expanded or decoded.
 * Text that isn't well-formed is shown as it is.
 */
export function xmlLines(text: string, { from = 0, lines = MAX_LINES, cut = false }: XmlLimits = {}): XmlLine[] {
  const printer = elementLines(text, from, from + lines, cut) ?? sourceLines(text, from, from + lines);
  const more = printer.count - printer.to;
  return more > 0 ? [...printer.lines, { indent: 0, tokens: [], more }] : printer.lines;
}

/** Undefined where the text isn't well-formed. */
function elementLines(text: string, from: number, to: number, cut: boolean): Printer | undefined {
  const p = newPrinter(from, to);
  const nodes = xmlNodes(text);
  for (let next = nodes.next(); ; next = nodes.next()) {
    if (next.done === true) {
      if (!cut && (next.value < text.length || p.stack.length > 0)) return undefined;
      if (next.value < text.length) p.pending.push({ kind: 'text', text: text.slice(next.value) });
      flush(p);
      return p;
    }
    if (!readNode(p, next.value)) return undefined;
  }
}

/** Whether the node may stand here. */
function readNode(p: Printer, { kind, text }: XmlNode): boolean {
  if (kind === 'close') return readClose(p, text);
  if (kind === 'text' || kind === 'cdata') {
    if (p.pending.length === MAX_PIECES) flush(p);
    p.pending.push({ kind, text });
    return p.stack.length > 0 || text.trim() === '' || text === '\ufeff';
  }
  flush(p);
  begin(p);
  p.line?.tokens.push(...(kind === 'open' || kind === 'empty' ? tagTokens(text) : [{ kind, text }]));
  if (kind === 'open') p.stack.push(nameOf(text));
  p.isOpening = kind === 'open';
  return true;
}

function readClose(p: Printer, text: string): boolean {
  if (!p.isOpening) flush(p);
  if (p.stack.pop() !== nameOf(text)) return false;
  if (!p.isOpening) begin(p);
  p.line?.tokens.push(...p.pending, { kind: 'tag', text });
  p.pending = [];
  p.isOpening = false;
  return true;
}

/** Space around text on a line of its own is layout. */
function flush(p: Printer): void {
  const tokens = p.pending.map((token) => ({ ...token, text: token.text.trim() })).filter(({ text }) => text !== '');
  p.pending = [];
  p.isOpening = false;
  if (tokens.length === 0) return;
  begin(p);
  p.line?.tokens.push(...tokens);
}

function sourceLines(text: string, from: number, to: number): Printer {
  const p = newPrinter(from, to);
  for (let start = 0; start < text.length;) {
    const next = text.indexOf('\n', start);
    const end = next === -1 ? text.length : next;
    begin(p);
    p.line?.tokens.push({ kind: 'text', text: text.slice(start, end) });
    start = end + 1;
  }
  return p;
}

function newPrinter(from: number, to: number): Printer {
  return { lines: [], from, to, count: 0, line: undefined, stack: [], pending: [], isOpening: false };
}

function begin(p: Printer): void {
  const isWanted = p.count >= p.from && p.count < p.to;
  p.line = isWanted ? { indent: Math.min(p.stack.length, MAX_DEPTH), tokens: [] } : undefined;
  if (p.line !== undefined) p.lines.push(p.line);
  p.count += 1;
}

function tagTokens(text: string): XmlToken[] {
  const tokens: XmlToken[] = [];
  let at = 0;
  for (const { 0: all, 1: name = '', 2: value = '', index } of text.matchAll(ATTRIBUTE)) {
    if (tokens.length >= 2 * MAX_PIECES) break;
    if (index > at) tokens.push({ kind: 'tag', text: text.slice(at, index) });
    tokens.push({ kind: 'attribute', text: name }, { kind: 'value', text: value });
    at = index + all.length;
  }
  tokens.push({ kind: 'tag', text: text.slice(at) });
  return tokens;
}

function nameOf(tag: string): string {
  return NAME.exec(tag)?.[1] ?? '';
}
