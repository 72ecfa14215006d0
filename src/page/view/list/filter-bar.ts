import { h, type ComponentChild, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { visibleText } from '../../content/visible.ts';
import { el } from '../../el.ts';
import { MAX_TEXT, type Filter } from '../../model/filter.ts';
import { startSearch } from '../../state/list-actions.ts';
import type { Open } from '../../state/opening.ts';
import { lazy, useInspector, useStore } from '../context.ts';

const Chips = lazy(async () => (await import('./chips.ts')).Chips);
const MethodChoices = lazy(async () => (await import('./filter-menus.ts')).MethodChoices);
const TypeChoices = lazy(async () => (await import('./filter-menus.ts')).TypeChoices);

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
      h(Menu, {
        label: filter.methods.length === 0 ? 'Method' : filter.methods.join(', '),
        isSet: filter.methods.length > 0,
        children: () => h(MethodChoices, choosing),
      }),
      h(Menu, {
        label: filter.type === '' ? 'Content type' : visibleText(filter.type),
        isSet: filter.type !== '',
        children: () => h(TypeChoices, choosing),
      }),
      access === 'owner' && h(Pause, { open }),
    ),
    hasChips(filter) && h(Chips, { filter, change }),
  ];
}

/** Parts of the filter that have no field here. */
function hasChips({ headers, path, since, until }: Filter): boolean {
  return headers.length > 0 || path !== '' || since !== '' || until !== '';
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

/** A button that shows choices below it, until something else is pressed. */
function Menu({
  label,
  isSet,
  children,
}: {
  label: string;
  isSet: boolean;
  children: () => ComponentChildren;
}): ComponentChild {
  const box = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (event: Event): void => {
      if (event.target instanceof Node && box.current?.contains(event.target)) return;
      if (box.current !== null) box.current.open = false;
    };
    const events = ['pointerdown', 'focusin'];
    for (const name of events) document.addEventListener(name, close);
    return () => {
      for (const name of events) document.removeEventListener(name, close);
    };
  }, [isOpen]);
  const escape = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || box.current === null || !isOpen) return;
    event.preventDefault();
    box.current.open = false;
    box.current.querySelector('summary')?.focus();
  };
  return el(
    'details',
    {
      class: 'menu',
      ref: box,
      'data-set': isSet ? 'true' : undefined,
      onToggle: () => setOpen(box.current?.open === true),
      onKeyDown: escape,
    },
    el('summary', null, label),
    isOpen && el('div', { class: 'menu-choices' }, children()),
  );
}
