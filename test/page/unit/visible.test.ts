import { assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { visibleParts, visibleText } from '../../../src/page/content/visible.ts';

test('what hides or reorders is an escape', () => {
  expect(visibleParts('a\u202eb')).toEqual(['a', { escape: '\\u202e' }, 'b']);
  const hidden = ['\0', '\x1b', '\x7f', '\x9b', '\xad', '\u200b', '\u200f', '\u2028', '\u2029', '\u2066', '\ufeff'];
  for (const character of [...hidden, '\ud800', '\udc00', '\u061c', '\u3164'])
    expect(visibleText(`x${character}y`)).toBe(`x\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}y`);
  expect(visibleText('\u{e0041}')).toBe('\\u{e0041}');
});

test('other text is one part', () => {
  for (const text of ['it’s žluťoučký кириллица 漢字 🐴 ❤️ עברית', '<b>&amp;</b>'])
    expect(visibleParts(text)).toEqual([text]);
  expect(visibleParts('')).toEqual([]);
});

test('line feeds and tabs stay where there are several lines', () => {
  expect(visibleText('a\n\tb')).toBe('a\\u000a\\u0009b');
  expect(visibleText('a\n\tb\r\n', true)).toBe('a\n\tb\\u000d\n');
});

test('escapes read back as the text', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      const parts = visibleParts(text);
      const back = parts.map((part) => (typeof part === 'string' ? part : unescape(part.escape))).join('');
      expect(back).toBe(text);
      expect(visibleText(text)).not.toMatch(/[\p{Cc}\p{Cs}\u202a-\u202e]/u);
    }),
  );
});

function unescape(escape: string): string {
  return String.fromCodePoint(Number.parseInt(escape.replaceAll(/[\\u{}]/g, ''), 16));
}
