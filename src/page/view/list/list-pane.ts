import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import type { Open } from '../../state/inspector.ts';
import { useInspector, useStore } from '../context.ts';
import { NothingShared } from '../shared/nothing-shared.ts';
import { FirstVisit } from '../start/first-visit.ts';
import { FilterBar } from './filter-bar.ts';
import { Rows } from './rows.ts';

export function ListPane({ open }: { open: Open }): ComponentChild {
  const { feed } = open;
  const { access } = useInspector();
  const { list, error } = useStore(feed.state);
  const { rows } = useStore(open.shown.state);
  const empty = list === 'ready' && feed.book.entries.length === 0 && rows.length === 0;
  return el(
    'section',
    { class: 'list-pane', 'aria-label': 'Captured requests' },
    error !== undefined && el('p', { class: 'error', role: 'alert' }, error),
    empty
      ? access === 'reader'
        ? h(NothingShared, null)
        : h(FirstVisit, { endpointId: feed.endpointId })
      : [h(FilterBar, { open }), h(Rows, { open })],
  );
}
