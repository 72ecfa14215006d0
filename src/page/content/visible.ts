export interface Escape {
  escape: string;
}

/** Controls, unpaired surrogates, marks without width, marks that reorder text, fillers and tags. */
const HIDDEN_CHARACTERS = [
  String.raw`\p{Cc}\p{Cs}\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e`,
  String.raw`\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}`,
].join('');

const HIDDEN = new RegExp(`[${HIDDEN_CHARACTERS}]`, 'u');
const EACH_HIDDEN = new RegExp(HIDDEN, 'gu');

/**
 * Text, with escapes where a character would be invisible or change the order of others.
 * @param multiline whether line feeds and tabs stay
 */
export function visibleParts(text: string, multiline = false): (string | Escape)[] {
  if (!HIDDEN.test(text)) return text === '' ? [] : [text];
  const parts: (string | Escape)[] = [];
  let start = 0;
  for (const { 0: character, index } of text.matchAll(EACH_HIDDEN)) {
    if (multiline && (character === '\n' || character === '\t')) continue;
    if (index > start) parts.push(text.slice(start, index));
    parts.push({ escape: escapeOf(character) });
    start = index + character.length;
  }
  if (start < text.length) parts.push(text.slice(start));
  return parts;
}

/** The same in one text, for titles and labels. */
export function visibleText(text: string, multiline = false): string {
  return visibleParts(text, multiline)
    .map((part) => (typeof part === 'string' ? part : part.escape))
    .join('');
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  return code > 0xffff ? `\\u{${digits}}` : `\\u${digits.padStart(4, '0')}`;
}
