import { h, type ComponentChild } from 'preact';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import { isEmpty, searchProblem } from '../../model/filter.ts';
import { clearFilter, misses, startSearch } from '../../state/filtering.ts';
import type { Open } from '../../state/opening.ts';
import { MAX_FOUND } from '../../state/search.ts';
import { useInspector, useStore } from '../context.ts';
import { lazy } from '../lazy.ts';
import { useMedia } from '../media.ts';
import { ZoneSwitch } from './zone-switch.ts';
import { countInWords, gapsInWords, searchInWords } from './words.ts';

const ActivityPicture = lazy(async () => (await import('./activity.ts')).ActivityPicture);

/** How much the list shows, of how much, and what was not looked at. */
export function ListStatus({ open }: { open: Open }): ComponentChild {
  const inspector = useInspector();
  const { feed, search, shown } = open;
  const filtered = !isEmpty(useStore(inspector.address, ({ filter }) => filter));
  const { rows, unsure, filtering } = useStore(shown.state);
  const { older, stored } = useStore(feed.state);
  const { filter } = useStore(search.state);
  const isWide = useMedia('(min-width: 700px)');
  const count = countInWords({
    rows: rows.length,
    loaded: feed.book.entries.length,
    stored,
    older,
    filtered,
  });
  const isSearched = filter !== undefined;
  const hasRows = rows.length > 0;
  const gaps = filtered && hasRows && !isSearched && misses(open) ? gapsInWords({ older, unsure }) : [];
  return el(
    'div',
    { class: 'list-status' },
    isSearched
      ? h(SearchProgress, { open })
      : el('span', { class: 'count', title: 'Stored now' }, filtering ? `${count} …` : count),
    gaps.map((gap) => el('span', { class: 'gap', key: gap }, gap)),
    filtered && el('button', { class: 'quiet', onClick: () => clearFilter(inspector) }, 'Clear filter'),
    filtered && hasRows && !isSearched && h(SearchButton, { open }),
    filtered && hasRows && inspector.access === 'owner' && h(DeleteButton, null),
    el(
      'span',
      { class: 'list-end' },
      isWide && h(ActivityPicture, { open }),
      (isWide || !filtered) && h(ZoneSwitch, null),
    ),
  );
}

function DeleteButton(): ComponentChild {
  const { dialog } = useInspector();
  return el(
    'button',
    { class: 'quiet', onClick: () => dialog.set({ name: 'delete-entries', ids: [], ofFilter: true }) },
    'Delete all that match',
  );
}

export function SearchButton({ open }: { open: Open }): ComponentChild {
  const inspector = useInspector();
  const filter = useStore(inspector.address, (now) => now.filter);
  const { stored } = useStore(open.feed.state);
  const problem = searchProblem(filter);
  if (!misses(open)) return null;
  return el(
    'button',
    {
      class: 'search-all',
      disabled: problem !== undefined,
      title: problem,
      onClick: () => startSearch(inspector, open),
    },
    `Search all ${formatCount(stored)}`,
  );
}

function SearchProgress({ open: { feed, search } }: { open: Open }): ComponentChild {
  const state = useStore(search.state);
  const { stored } = useStore(feed.state);
  const { running, more, error, found } = state;
  return el(
    'span',
    { class: 'search', 'data-running': running ? 'true' : undefined },
    el('span', null, searchInWords(state, stored)),
    error !== undefined && el('span', { class: 'error', role: 'alert' }, error),
    running && el('button', { onClick: () => search.halt() }, 'Stop'),
    !running && more && found.length < MAX_FOUND && el('button', { onClick: () => search.goOn() }, 'Search on'),
  );
}
