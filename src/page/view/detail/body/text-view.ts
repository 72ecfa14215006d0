import { h, type ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import { el } from '../../../el.ts';
import { line, lines, LINES_AT_FIRST } from './lines.ts';
import { LongText } from './long-text.ts';
import { usePages } from './pages.ts';

/** A text line by line, as it was sent. */
export function TextView({ text, limit = LINES_AT_FIRST }: { text: string; limit?: number }): ComponentChild {
  const { all, end } = useMemo(() => splitLines(text), [text]);
  const [shown, more] = usePages(all.length, limit, 'lines');
  return [
    end === 'CRLF' && el('p', { class: 'note' }, 'Lines end in CRLF.'),
    lines(
      'Text',
      all.length,
      all.slice(0, shown).map((part, number) => line({ number }, h(LongText, { text: part, multiline: true }))),
      more,
    ),
  ];
}

/** Where all lines end in CRLF, one sentence says so; otherwise each CR is shown. */
function splitLines(text: string): { all: string[]; end: 'CRLF' | 'LF' } {
  const isCrlf = text.includes('\r\n') && !/(?<!\r)\n/.test(text);
  const all = text.split(isCrlf ? '\r\n' : '\n');
  if (all.length > 1 && all.at(-1) === '') all.pop();
  return { all, end: isCrlf ? 'CRLF' : 'LF' };
}
