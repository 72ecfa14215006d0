import type { ComponentChild, ComponentChildren } from 'preact';
import { el } from '../../../el.ts';

/** Deeper lines begin at the same place. */
const MAX_INDENT = 40;

export const LINES_AT_FIRST = 500;

interface LineProps {
  /** From 0. */
  number: number;
  indent?: number;
  /** What stands beside the number. */
  mark?: ComponentChild;
}

/** A line of a body. Its number is no part of what is copied. */
export function line({ number, indent = 0, mark }: LineProps, ...children: ComponentChildren[]): ComponentChild {
  const columns = 2 * Math.min(indent, MAX_INDENT);
  return el(
    'div',
    { class: 'line', key: number, 'data-number': String(number + 1) },
    mark,
    el('span', { class: 'line-text', style: { '--columns': columns } }, ' '.repeat(columns), ...children),
  );
}

/** @param count how many there are in all; their numbers get as much room */
export function lines(
  label: string,
  count: number,
  children: ComponentChildren,
  more: ComponentChild = null,
): ComponentChild {
  return [
    el(
      'div',
      { class: 'lines', role: 'group', 'aria-label': label, style: { '--digits': String(count).length } },
      children,
    ),
    more,
  ];
}
