/** A piece of XML as in its source, `text` included. */
export interface XmlNode {
  kind: 'open' | 'empty' | 'close' | 'text' | 'comment' | 'cdata' | 'doctype' | 'instruction';
  text: string;
}

const SPECIAL: [kind: XmlNode['kind'], start: string, end: string][] = [
  ['comment', '<!--', '-->'],
  ['cdata', '<![CDATA[', ']]>'],
  ['instruction', '<?', '?>'],
];

const NAME_START = /[A-Za-z_:\u{80}-\u{10ffff}]/u;

/** The nodes of XML, one after another; the last value is where it stopped, before the end if it is no XML there. */
export function* xmlNodes(text: string): Generator<XmlNode, number> {
  for (let at = 0; at < text.length;) {
    const end = nodeEnd(text, at);
    if (end === -1) return at;
    yield { kind: kindAt(text, at, end), text: text.slice(at, end) };
    at = end;
  }
  return text.length;
}

function nodeEnd(text: string, at: number): number {
  if (text[at] !== '<') {
    const next = text.indexOf('<', at);
    return next === -1 ? text.length : next;
  }
  const special = SPECIAL.find(([, start]) => text.startsWith(start, at));
  if (special !== undefined) {
    const [, start, end] = special;
    const found = text.indexOf(end, at + start.length);
    return found === -1 ? -1 : found + end.length;
  }
  if (/^<!DOCTYPE/i.test(text.slice(at, at + 9))) return markupEnd(text, at, true);
  return NAME_START.test(text[text[at + 1] === '/' ? at + 2 : at + 1] ?? '') ? markupEnd(text, at, false) : -1;
}

/** Behind the `>` that isn't in quotes, or in the brackets of a document type. */
function markupEnd(text: string, at: number, hasSubset: boolean): number {
  let depth = 0;
  for (let i = at + 1; i < text.length; i += 1) {
    const character = text[i];
    if (character === '"' || character === "'") {
      const close = text.indexOf(character, i + 1);
      if (close === -1) return -1;
      i = close;
    } else if (hasSubset && (character === '[' || character === ']')) depth += character === '[' ? 1 : -1;
    else if (character === '<' && !hasSubset) return -1;
    else if (character === '>' && depth <= 0) return i + 1;
  }
  return -1;
}

function kindAt(text: string, at: number, end: number): XmlNode['kind'] {
  if (text[at] !== '<') return 'text';
  const special = SPECIAL.find(([, start]) => text.startsWith(start, at));
  if (special !== undefined) return special[0];
  if (text[at + 1] === '!') return 'doctype';
  if (text[at + 1] === '/') return 'close';
  return text[end - 2] === '/' ? 'empty' : 'open';
}
