import { h, type ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import { xmlLines, type XmlLine } from '../../../content/xml.ts';
import { createLineSource } from './line-source.ts';
import { line, lines, LINES_AT_FIRST } from './lines.ts';
import { LongText } from './long-text.ts';
import { usePages } from './pages.ts';

interface XmlProps {
  text: string;
  /** Whether the end of the text is missing. */
  isCut: boolean;
  limit?: number;
}

/** XML on lines of its own, its text exactly as it was sent. SVG and HTML are nothing else here. */
export function XmlView({ text, isCut, limit = LINES_AT_FIRST }: XmlProps): ComponentChild {
  const source = useMemo(
    () => createLineSource((from, count) => xmlLines(text, { from, lines: count, cut: isCut })),
    [text, isCut],
  );
  const [shown, more] = usePages(source.count, limit, 'lines');
  const numbers = Array.from({ length: shown }, (_, number) => number);
  return lines(
    'XML',
    source.count,
    numbers.map((number) => {
      const { indent, tokens } = source.line(number) as XmlLine;
      const parts = tokens.map(({ kind, text: part }) => h(LongText, { text: part, class: `token-${kind}` }));
      return line({ number, indent }, parts);
    }),
    more,
  );
}
