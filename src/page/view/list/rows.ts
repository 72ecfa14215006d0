import { h, type ComponentChild } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { el } from '../../el.ts';
import type { Open } from '../../state/inspector.ts';
import { useInspector, useStore } from '../context.ts';
import { Row } from './row.ts';

const ROW_PX = 32;
const OVERSCAN = 4;

/** The list: only the rows in view are in the document. */
export function Rows({ open }: { open: Open }): ComponentChild {
  const { address, go } = useInspector();
  const { rows } = useStore(open.shown.state);
  const selected = useStore(address, (now) => now.request);
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW_PX) - OVERSCAN);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_PX) + OVERSCAN);
  const visible = [];
  for (let i = first; i < last; i += 1) {
    const entry = rows[rows.length - 1 - i];
    if (entry === undefined) continue;
    const isSelected = entry.id === selected;
    visible.push(
      h(Row, { key: entry.id, entry, isSelected, position: i + 1, onOpen: () => go({ request: entry.id }) }),
    );
  }
  return el(
    'div',
    {
      class: 'rows',
      ref: box,
      role: 'listbox',
      tabIndex: 0,
      'aria-label': 'Requests',
      onScroll: () => setTop(box.current?.scrollTop ?? 0),
    },
    el(
      'div',
      { class: 'rows-all', style: { height: `${rows.length * ROW_PX}px` } },
      el('div', { class: 'rows-visible', style: { transform: `translateY(${first * ROW_PX}px)` } }, visible),
    ),
  );
}
