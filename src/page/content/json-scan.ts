/* Where tokens of JSON end (RFC 8259). Each function reads from `at`, and answers -1 where there is no such token. */

/** The text ended within a string. */
export const UNFINISHED = -2;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /^(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/;
const ESCAPE_START = /^(?:u[\dA-Fa-f]{0,3})?$/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;

export function skipSpace(text: string, at: number): number {
  for (let i = at; ; i++) {
    const code = text.charCodeAt(i);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return i;
  }
}

export function stringEnd(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) return -1;
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i + 1;
    if (code < FIRST_PRINTABLE) return -1;
    if (code !== BACKSLASH) continue;
    const escape = text.slice(i + 1, i + 6);
    if (ESCAPE.test(escape)) i += escape.startsWith('u') ? 5 : 1;
    else if (i + 1 + escape.length < text.length || !ESCAPE_START.test(escape)) return -1;
  }
  return UNFINISHED;
}

export function numberEnd(text: string, at: number): number {
  return patternEnd(NUMBER, text, at);
}

/** Of `true`, `false` or `null`. */
export function wordEnd(text: string, at: number): number {
  return patternEnd(WORD, text, at);
}

function patternEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}
