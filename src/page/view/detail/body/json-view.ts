import { h, type ComponentChild } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { jsonLines, type JsonLine, type JsonToken } from '../../../content/json.ts';
import { formatCount } from '../../../content/size.ts';
import { visibleText } from '../../../content/visible.ts';
import { el } from '../../../el.ts';
import { moveInFolds } from './folds.ts';
import { createLineSource, type LineSource } from './line-source.ts';
import { line, lines, LINES_AT_FIRST } from './lines.ts';
import { LongText } from './long-text.ts';
import { usePages } from './pages.ts';

type Source = LineSource<JsonLine>;

/** JSON on lines of its own, each token exactly as it was sent; objects and arrays fold. */
export function JsonView({ text, limit = LINES_AT_FIRST }: { text: string; limit?: number }): ComponentChild {
  const source = useMemo(() => createLineSource((from, count) => jsonLines(text, { from, lines: count })), [text]);
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  // The one fold that Tab stops at; arrows move between folds.
  const [current, setCurrent] = useState<number>();
  const [shown, more] = usePages(source.count - hiddenBy(source, folded), limit, 'lines');
  const numbers = visibleLines(source, folded, shown);
  const stop = current !== undefined && numbers.includes(current) ? current : numbers.find((n) => canFold(source, n));

  function fold(number: number, close: boolean): void {
    const next = new Set(folded);
    if (close) next.add(number);
    else next.delete(number);
    setFolded(next);
  }

  const view = lines(
    'JSON',
    source.count,
    numbers.map((number) => {
      const { indent, tokens, path, close, members = 0 } = source.line(number) as JsonLine;
      const isFolded = folded.has(number);
      const button = close !== undefined && {
        class: 'fold',
        'aria-expanded': isFolded ? ('false' as const) : ('true' as const),
        'aria-label': `${visibleText(path.slice(0, 200))}, ${membersOf(tokens, members)}`,
        tabIndex: number === stop ? 0 : -1,
        onFocus: () => setCurrent(number),
        onClick: () => fold(number, !isFolded),
      };
      const end = isFolded && close !== undefined && source.line(close)?.tokens;
      return line(
        { number, indent, mark: button && el('button', button) },
        tokens.map(token),
        end && [el('span', { class: 'folded' }, ` ${membersOf(tokens, members)} `), end.map(token)],
      );
    }),
    more,
  );
  return el('div', { onKeyDown: moveInFolds }, view);
}

function token({ kind, text }: JsonToken): ComponentChild {
  return [h(LongText, { text, class: `token-${kind}` }), text === ':' && ' '];
}

function membersOf(tokens: JsonToken[], members: number): string {
  const word = tokens.at(-1)?.text === '[' ? 'item' : 'member';
  return `${formatCount(members)} ${word}${members === 1 ? '' : 's'}`;
}

function canFold(source: Source, number: number): boolean {
  return source.line(number)?.close !== undefined;
}

/** The first lines that no fold hides. */
function visibleLines(source: Source, folded: ReadonlySet<number>, count: number): number[] {
  const numbers: number[] = [];
  for (let number = 0; number < source.count && numbers.length < count;) {
    numbers.push(number);
    const close = folded.has(number) ? source.line(number)?.close : undefined;
    number = (close ?? number) + 1;
  }
  return numbers;
}

/** How many lines are in folds, each counted once. */
function hiddenBy(source: Source, folded: ReadonlySet<number>): number {
  let [hidden, beyond] = [0, -1];
  for (const number of [...folded].toSorted((a, b) => a - b)) {
    const close = source.line(number)?.close ?? number;
    if (number <= beyond) continue;
    hidden += close - number;
    beyond = close;
  }
  return hidden;
}
