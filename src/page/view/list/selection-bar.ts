import type { ComponentChild } from 'preact';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';

/** What can be done with the selected rows. */
export function SelectionBar(): ComponentChild {
  const { selection, dialog, go, access } = useInspector();
  const ids = useStore(selection.ids);
  return el(
    'div',
    { class: 'selection-bar', role: 'group', 'aria-label': 'Selected requests' },
    el('span', { role: 'status' }, `${formatCount(ids.size)} selected`),
    ids.size === 2 && el('button', { onClick: () => go(bothOf(ids)) }, 'Compare'),
    access === 'owner' &&
      el('button', { onClick: () => dialog.set({ name: 'delete-entries', ids: [...ids] }) }, 'Delete'),
    el('button', { class: 'quiet', onClick: () => selection.clear() }, 'Clear'),
    el('span', { class: 'hint' }, 'Shift + click selects up to there, Ctrl + click one more'),
  );
}

function bothOf(ids: ReadonlySet<string>): { request: string | undefined; compare: string | undefined } {
  const [compare, request] = [...ids].toSorted();
  return { request, compare };
}
