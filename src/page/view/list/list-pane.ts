import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import { isEmpty } from '../../model/filter.ts';
import { misses } from '../../state/list-actions.ts';
import type { Open } from '../../state/opening.ts';
import type { Shown } from '../../state/shown.ts';
import { lazy, useInspector, useStore } from '../context.ts';
import { FilterBar } from './filter-bar.ts';
import { ListStatus, noneInWords, SearchButton } from './list-status.ts';
import { Rows } from './rows.ts';

const NothingShared = lazy(async () => (await import('../shared/nothing-shared.ts')).NothingShared);
const SelectionBar = lazy(async () => (await import('./selection-bar.ts')).SelectionBar);
const FirstVisit = lazy(async () => (await import('../start/first-visit.ts')).FirstVisit);

export function ListPane({ open }: { open: Open }): ComponentChild {
  const { access, address, selection } = useInspector();
  const { feed, shown } = open;
  const { list, error } = useStore(feed.state);
  const hasRows = useStore(shown.state, ({ rows }) => rows.length > 0);
  const filter = useStore(address, (now) => now.filter);
  const filtered = !isEmpty(filter);
  const isSelecting = useStore(selection.ids, ({ size }) => size > 0);
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
          isSelecting && h(SelectionBar, null),
        ],
    h(Arrivals, { shown }),
  );
}

const SAY_EVERY_MS = 5_000;

/** Tells people who hear the page how many requests arrived, not more often than they can listen. */
function Arrivals({ shown }: { shown: Shown }): ComponentChild {
  const arrived = useStore(shown.state, (now) => now.arrived);
  const [said, setSaid] = useState({ text: '', arrived, at: -Infinity });
  useEffect(() => {
    const fresh = arrived - said.arrived;
    if (fresh === 0) return undefined;
    const say = (): void => {
      const text = `${formatCount(fresh)} new ${fresh === 1 ? 'request' : 'requests'}`;
      setSaid({ text, arrived, at: performance.now() });
    };
    const timer = setTimeout(say, Math.max(0, said.at + SAY_EVERY_MS - performance.now()));
    return () => clearTimeout(timer);
  }, [arrived, said]);
  const { text, at } = said;
  // Another element, so that a text is read out again when it is the same.
  return el(
    'p',
    { class: 'off-screen', 'aria-live': 'polite', 'data-live': 'arrivals' },
    text !== '' && el('span', { key: at }, text),
  );
}

/** Why the list has no rows, and what to do. */
function Empty({ open }: { open: Open }): ComponentChild {
  const { shown, search, feed } = open;
  const { paused, held, filtering } = useStore(shown.state);
  const { running, filter } = useStore(search.state);
  const { list } = useStore(feed.state);
  const say = (text: string, ...actions: ComponentChild[]): ComponentChild =>
    el('div', { class: 'empty' }, el('p', null, text), el('div', { class: 'empty-actions' }, actions));
  if (list === 'loading' || filtering) return say('Loading …');
  if (paused && held > 0)
    return say(
      `Paused: ${formatCount(held)} new ${held === 1 ? 'request matches' : 'requests match'}`,
      el('button', { onClick: () => shown.pause(false) }, 'Resume'),
    );
  if (running) return say('Nothing found yet. Searching …');
  if (filter === undefined && misses(open))
    return say(noneInWords(feed.book.entries.length), h(SearchButton, { open }));
  return say(filter === undefined || !search.state.get().more ? 'No request matches' : 'Nothing found yet');
}
