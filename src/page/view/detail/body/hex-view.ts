import type { ComponentChild } from 'preact';
import { hexRowCount, hexRows } from '../../../content/hex.ts';
import { el } from '../../../el.ts';
import { usePages } from './pages.ts';

const ROWS_AT_FIRST = 1_024;

/** Bytes with their offsets. */
export function HexView({ bytes }: { bytes: Uint8Array }): ComponentChild {
  const [shown, more] = usePages(hexRowCount(bytes), ROWS_AT_FIRST, 'rows of 16 bytes');
  return [
    el(
      'div',
      { class: 'hex', role: 'group', 'aria-label': 'Bytes' },
      hexRows(bytes, 0, shown).map(({ offset, hex, ascii }) =>
        el(
          'div',
          { class: 'hex-row', key: offset },
          el('span', { class: 'hex-offset' }, offset),
          `  ${hex.slice(0, 8).join(' ').padEnd(23)}  ${hex.slice(8).join(' ').padEnd(23)}  `,
          el('span', { class: 'hex-text' }, ascii),
        ),
      ),
    ),
    more,
  ];
}
