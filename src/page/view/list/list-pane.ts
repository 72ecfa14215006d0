import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { isEmpty } from '../../model/filter.ts';
import type { Open } from '../../state/opening.ts';
import { useInspector, useStore } from '../context.ts';
import { lazy } from '../lazy.ts';
import { Arrivals } from './arrivals.ts';
import { Empty } from './empty.ts';
import { FilterBar } from './filter-bar.ts';
import { ListStatus } from './list-status.ts';
import { Rows } from './rows.ts';
import { SelectionBar } from './selection-bar.ts';

const NothingShared = lazy(async () => (await import('../shared/nothing-shared.ts')).NothingShared);
const FirstVisit = lazy(async () => (await import('../start/first-visit.ts')).FirstVisit);

export function ListPane({ open }: { open: Open }): ComponentChild {
  const { access, address } = useInspector();
  const { feed, shown } = open;
  const { list, error } = useStore(feed.state);
  const hasRows = useStore(shown.state, ({ rows }) => rows.length > 0);
  const filter = useStore(address, (now) => now.filter);
  const filtered = !isEmpty(filter);
  const isNew = list === 'ready' && feed.book.entries.length === 0 && !hasRows && !filtered;
  return el(
    'section',
    { class: 'list-pane', 'aria-label': 'Captured requests' },
    error !== undefined && el('p', { class: 'error', role: 'alert' }, error),
    isNew
      ? access === 'reader'
        ? h(NothingShared, null)
        : h(FirstVisit, { endpointId: feed.endpointId })
      : [
          h(FilterBar, { open }),
          h(ListStatus, { open }),
          // Another filter begins at the top.
          hasRows ? h(Rows, { open, filtered, key: JSON.stringify(filter) }) : h(Empty, { open }),
          h(SelectionBar, null),
        ],
    h(Arrivals, { shown }),
  );
}
