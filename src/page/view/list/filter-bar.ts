import type { ComponentChild } from 'preact';
import { el } from '../../el.ts';
import type { Open } from '../../state/inspector.ts';
import { useInspector, useStore } from '../context.ts';

export function FilterBar({ open }: { open: Open }): ComponentChild {
  const { address, go } = useInspector();
  const filter = useStore(address, (now) => now.filter);
  const { rows, paused, held } = useStore(open.shown.state);
  const stored = useStore(open.feed.state, (now) => now.stored);
  return el(
    'div',
    { class: 'filter-bar' },
    el('input', {
      type: 'search',
      'aria-label': 'Filter',
      placeholder: 'Filter by path, header or body',
      value: filter.q,
      onInput: (event) => go({ filter: { ...filter, q: event.currentTarget.value } }, true),
    }),
    el('span', { class: 'count' }, `${rows.length} / ${stored}`),
    el(
      'button',
      { 'aria-pressed': paused ? 'true' : 'false', onClick: () => open.shown.pause(!paused) },
      paused ? `Paused, ${held} new: resume` : 'Pause',
    ),
  );
}
