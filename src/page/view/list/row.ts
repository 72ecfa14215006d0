import type { ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { pathBehindKey, type Entry } from '../../model/entry.ts';

interface RowProps {
  entry: Entry;
  isSelected: boolean;
  /** From 1. */
  position: number;
  onOpen: () => void;
}

export function Row({ entry, isSelected, position, onOpen }: RowProps): ComponentChild {
  return el(
    'div',
    {
      class: 'row',
      role: 'option',
      id: `row-${entry.id}`,
      'aria-selected': isSelected ? 'true' : 'false',
      'aria-posinset': position,
      onClick: onOpen,
    },
    el('span', { class: 'method' }, entry.method),
    el('span', { class: 'path' }, pathBehindKey(entry.path)),
    el('span', { class: 'size' }, String(entry.size)),
    el('span', { class: 'time' }, entry.created_at.slice(11, 23)),
  );
}
