import { h, type ComponentChild } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { dayKey } from '../../content/time.ts';
import { el } from '../../el.ts';
import type { Entry } from '../../model/entry.ts';
import type { Inspector } from '../../state/inspector.ts';
import { move, openRow } from '../../state/list-actions.ts';
import type { Open } from '../../state/opening.ts';
import { useInspector, useStore } from '../context.ts';
import { Row, rowId } from './row.ts';
import { placeOf, useViewport, type Viewport } from './viewport.ts';

/** How near the end of the list older entries are loaded. */
const NEAR_END = 40;

/** The list: only the rows in view are in the document. */
export function Rows({ open, filtered }: { open: Open; filtered: boolean }): ComponentChild {
  const inspector = useInspector();
  const { rows } = useStore(open.shown.state);
  const opened = useStore(inspector.address, ({ request }) => request);
  const selected = useStore(inspector.selection.ids);
  const zone = useStore(inspector.preferences.zone);
  const box = useRef<HTMLDivElement>(null);
  const view = useViewport(box, rows);
  const active = inspector.selection.head() ?? opened;
  useActive(open, view, active);
  useFocusBack(box, opened);
  useLayoutEffect(() => {
    if (!filtered && view.last > rows.length - NEAR_END) void open.feed.loadOlder();
  }, [filtered, view.last, rows.length]);
  const today = dayKey(new Date().toISOString(), zone);
  const visible: Entry[] = rows.slice(rows.length - view.last, rows.length - view.first).toReversed();
  return el(
    'div',
    { class: 'rows-box' },
    el(
      'div',
      { class: 'rows', ref: box, onScroll: view.onScroll },
      el(
        'div',
        {
          class: 'rows-all',
          role: 'listbox',
          tabIndex: 0,
          'aria-label': 'Requests',
          'aria-multiselectable': 'true',
          'aria-activedescendant': visible.some(({ id }) => id === active) ? rowId(active as string) : undefined,
          style: { height: `${rows.length * view.rowPx}px` },
          onClick: (event) => click(inspector, rows, event),
          onKeyDown: (event) => press(inspector, view, event),
        },
        el(
          'div',
          {
            class: 'rows-visible',
            role: 'presentation',
            style: { transform: `translateY(${view.first * view.rowPx}px)` },
          },
          visible.map((entry, i) =>
            h(Row, {
              key: entry.id,
              entry,
              isOpen: entry.id === opened,
              isSelected: selected.size > 0 ? selected.has(entry.id) : entry.id === opened,
              position: view.first + i + 1,
              count: rows.length,
              zone,
              today,
            }),
          ),
        ),
      ),
      h(Older, { open, filtered }),
    ),
    view.fresh > 0 && el('button', { class: 'pill', onClick: view.toTop }, `↑ ${formatCount(view.fresh)} new`),
  );
}

/** What is opened, or selected last, comes into view, also when it is loaded later. */
function useActive({ feed, search, shown }: Open, view: Viewport, active: string | undefined): void {
  const { rows } = shown.state.get();
  const entry =
    active === undefined
      ? undefined
      : (feed.book.get(active) ?? search.state.get().found.find(({ id }) => id === active));
  const place = entry === undefined ? -1 : placeOf(rows, entry.seq);
  const isThere = place !== -1 && rows.at(-1 - place)?.id === active;
  useLayoutEffect(() => {
    if (isThere) view.reveal(place);
  }, [active, isThere, view.rowPx]);
}

/** When the detail is closed, the focus returns to the list. */
function useFocusBack(box: { current: HTMLElement | null }, opened: string | undefined): void {
  const before = useRef(opened);
  useLayoutEffect(() => {
    const closed = before.current !== undefined && opened === undefined;
    before.current = opened;
    const { activeElement } = document;
    if (!closed || (activeElement !== document.body && activeElement?.isConnected)) return;
    box.current?.querySelector<HTMLElement>('[role=listbox]')?.focus({ preventScroll: true });
  }, [opened]);
}

function click(inspector: Inspector, rows: readonly Entry[], event: MouseEvent): void {
  const row = event.target instanceof Element ? event.target.closest('[role=option]') : null;
  const entry = rows.find(({ id }) => rowId(id) === row?.id);
  if (entry === undefined) return;
  if (event.shiftKey) inspector.selection.extend(rows, inspector.address.get().request, entry.id);
  else if (event.ctrlKey || event.metaKey) inspector.selection.toggle(entry.id);
  else openRow(inspector, entry.id);
}

function press(inspector: Inspector, { pageRows, toTop }: Viewport, event: KeyboardEvent): void {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: pageRows,
    PageUp: -pageRows,
    Home: -Infinity,
    End: Infinity,
  };
  const step = steps[event.key];
  if (step !== undefined) move(inspector, step, event.shiftKey);
  else if (event.key !== 'Enter' || !focusDetail()) return;
  if (event.key === 'Home') toTop();
  event.preventDefault();
}

function focusDetail(): boolean {
  const pane = document.querySelector('.detail-pane');
  const target = pane?.querySelector<HTMLElement>('[role=tab][aria-selected=true]') ?? pane?.querySelector('button');
  target?.focus();
  return target !== undefined && target !== null;
}

/** What is below the last row. */
export function Older({ open: { feed }, filtered }: { open: Open; filtered: boolean }): ComponentChild {
  const older = useStore(feed.state, (now) => now.older);
  return el('p', { class: 'older' }, inWords());

  function inWords(): ComponentChild {
    switch (older) {
      case 'loading':
        return 'Loading older …';
      case 'none':
        return filtered ? null : 'No older requests';
      case 'full':
        return [
          `${formatCount(feed.book.entries.length)} requests are as many as the page keeps. `,
          'For older ones filter by text or time, and search all.',
        ];
      case 'more':
        return el('button', { class: 'quiet', onClick: () => void feed.loadOlder() }, 'Load older');
    }
  }
}
