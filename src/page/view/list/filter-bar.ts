import { h, type ComponentChild } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import { MAX_TEXT, type Filter } from '../../model/filter.ts';
import { startSearch } from '../../state/filtering.ts';
import type { Open } from '../../state/opening.ts';
import { useInspector, useStore } from '../context.ts';
import { Chips } from './chips.ts';
import { MethodMenu, TypeMenu } from './filter-menus.ts';

export function FilterBar({ open }: { open: Open }): ComponentChild {
  const { access, address, go } = useInspector();
  const filter = useStore(address, (now) => now.filter);
  const change = (part: Partial<Filter>): void => go({ filter: { ...address.get().filter, ...part } }, true);
  const choosing = { book: open.feed.book, filter, change };
  return [
    el(
      'div',
      { class: 'filter-bar', role: 'search' },
      h(Text, { open, change }),
      h(MethodMenu, choosing),
      h(TypeMenu, choosing),
      access === 'owner' && h(Pause, { open }),
    ),
    h(Chips, { filter, change }),
  ];
}

/** The filter follows when people pause. */
const TYPED_MS = 150;

/** The field has its own text: what arrives never touches it. */
function Text({ open, change }: { open: Open; change: (part: Partial<Filter>) => void }): ComponentChild {
  const inspector = useInspector();
  const q = useStore(inspector.address, ({ filter }) => filter.q);
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sent = useRef(q);
  const send = (): void => {
    clearTimeout(timer.current);
    sent.current = field.current?.value ?? '';
    change({ q: sent.current });
  };
  useLayoutEffect(() => {
    if (q === sent.current || field.current === null) return;
    clearTimeout(timer.current);
    sent.current = field.current.value = q;
  }, [q]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return el('input', {
    id: FILTER_ID,
    ref: field,
    type: 'search',
    'aria-label': 'Filter',
    'aria-keyshortcuts': '/',
    placeholder: 'Filter by path, header or body',
    autocomplete: 'off',
    spellcheck: false,
    maxLength: MAX_TEXT,
    defaultValue: q,
    onInput() {
      clearTimeout(timer.current);
      timer.current = setTimeout(send, TYPED_MS);
    },
    onKeyDown(event) {
      if (event.key !== 'Enter') return;
      send();
      startSearch(inspector, open);
    },
  });
}

export const FILTER_ID = 'filter';

function Pause({ open: { shown } }: { open: Open }): ComponentChild {
  const { paused, held } = useStore(shown.state);
  return el(
    'span',
    { class: 'pause', 'data-paused': paused ? 'true' : undefined },
    el(
      'button',
      { 'aria-keyshortcuts': 'p', onClick: () => shown.pause(!paused) },
      paused && [el('span', { class: 'paused' }, `Paused · ${formatCount(held)} new`), ' '],
      paused ? 'Resume' : 'Pause',
    ),
  );
}
