import { h, type ComponentChild } from 'preact';
import { visibleText } from '../../content/visible.ts';
import { el } from '../../el.ts';
import { useInspector } from '../context.ts';
import { copyText } from '../copy.ts';
import { LongText } from './body/long-text.ts';
import { usePages } from './body/pages.ts';

const ROWS_AT_FIRST = 200;
const MAX_LABEL_CHARACTERS = 60;

export type Pair = readonly [name: string, value: string];

interface PairsProps {
  label: string;
  pairs: readonly Pair[];
  /** How a value is shown, where that is not as text. */
  show?: (value: string) => ComponentChild;
  onFilter?: (index: number) => void;
}

/** Names and values that somebody sent, in the order that they came in. */
export function PairsTable({ label, pairs, show, onFilter }: PairsProps): ComponentChild {
  const { say } = useInspector();
  const [shown, more] = usePages(pairs.length, ROWS_AT_FIRST, 'rows');
  const copy = (value: string): void => void copyText(value).then(() => say('The value is copied'));
  return [
    el(
      'table',
      { class: 'pairs', 'aria-label': label },
      el(
        'thead',
        { class: 'unseen' },
        el(
          'tr',
          null,
          ['Name', 'Value', 'Actions'].map((text) => el('th', null, text)),
        ),
      ),
      el(
        'tbody',
        null,
        pairs.slice(0, shown).map(([name, value], i) =>
          el(
            'tr',
            { key: i },
            el('th', { scope: 'row' }, h(LongText, { text: name })),
            el('td', { class: 'value' }, show?.(value) ?? h(LongText, { text: value, multiline: true })),
            el(
              'td',
              { class: 'pair-actions' },
              onFilter !== undefined && action('Filter', `by ${shortened(name)}`, () => onFilter(i)),
              action('Copy', `the value of ${shortened(name)}`, () => copy(value)),
            ),
          ),
        ),
      ),
    ),
    more,
  ];
}

function action(does: string, what: string, onClick: () => void): ComponentChild {
  return el('button', { class: 'quiet small', 'aria-label': `${does} ${what}`, onClick }, does);
}

function shortened(name: string): string {
  return visibleText(name.length > MAX_LABEL_CHARACTERS ? `${name.slice(0, MAX_LABEL_CHARACTERS)}…` : name);
}
