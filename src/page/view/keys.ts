import { useEffect } from 'preact/hooks';
import { isEmpty } from '../model/filter.ts';
import type { Inspector } from '../state/inspector.ts';
import { clearFilter, move } from '../state/list-actions.ts';
import { useInspector } from './context.ts';
import { FILTER_ID } from './list/filter-bar.ts';

/** What keys do, as the help shows it. */
export const KEYS: readonly [keys: string, does: string][] = [
  ['j, k or ↓, ↑', 'next, previous request'],
  ['Home, End, Page Up, Page Down', 'move through the list'],
  ['Shift + ↓, ↑', 'select several requests'],
  ['Enter', 'go to the open request'],
  ['/', 'filter'],
  ['p', 'pause, resume'],
  ['Delete', 'delete the selected requests, or the open one'],
  ['?', 'this help'],
  ['Escape', 'close, or clear the filter'],
];

/** The keys that act wherever the focus is, except in fields and dialogs. */
export function useKeys(): void {
  const inspector = useInspector();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const field = event.target instanceof Element ? event.target.closest(FIELDS) : null;
      const act = event.key === 'Escape' ? escape : field === null ? ACTS[event.key] : undefined;
      if (act === undefined || act(inspector, field) === false) return;
      event.preventDefault();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}

/** What is typed into. */
const FIELDS = 'input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]';

/** @returns false = there was nothing to do */
type Act = (inspector: Inspector, field: Element | null) => boolean | void;

const ACTS: Record<string, Act> = {
  j: (inspector) => move(inspector, 1),
  k: (inspector) => move(inspector, -1),
  p({ access, open }) {
    // Their list is refreshed on demand.
    if (access === 'reader') return false;
    const shown = open.get()?.shown;
    shown?.pause(!shown.state.get().paused);
    return shown !== undefined;
  },
  '/'() {
    const field = filterField();
    field?.focus();
    field?.select();
    return field !== null;
  },
  Delete({ access, address, selection, dialog }) {
    if (access === 'reader') return false;
    const selected = [...selection.ids.get()];
    const { request } = address.get();
    const ids = selected.length > 0 || request === undefined ? selected : [request];
    if (ids.length > 0) dialog.set({ name: 'delete-entries', ids });
    return ids.length > 0;
  },
  '?': ({ dialog }) => dialog.set({ name: 'help' }),
};

/** Undoes what was done last: a filter that is being typed, the open request, the selection, the filter. */
function escape(inspector: Inspector, field: Element | null): boolean {
  const { address, selection, go } = inspector;
  const { request, compare, filter } = address.get();
  if (field !== null && field === filterField()) return escapeFilter(inspector);
  if (field !== null) return false;
  if (compare !== undefined) go({ compare: undefined });
  else if (request !== undefined) go({ request: undefined });
  else if (selection.ids.get().size > 0) selection.clear();
  else if (!isEmpty(filter)) clearFilter(inspector);
  else return false;
  return true;
}

function escapeFilter(inspector: Inspector): boolean {
  const field = filterField();
  const wasEmpty = field?.value === '' && isEmpty(inspector.address.get().filter);
  if (wasEmpty)
    document.querySelector<HTMLElement>('[role=listbox][aria-label=Requests]')?.focus({ preventScroll: true });
  if (field === null || wasEmpty) return wasEmpty;
  field.value = '';
  // It may not have been sent yet.
  field.dispatchEvent(new Event('input'));
  clearFilter(inspector);
  return true;
}

function filterField(): HTMLInputElement | null {
  return document.querySelector(`input#${FILTER_ID}`);
}
