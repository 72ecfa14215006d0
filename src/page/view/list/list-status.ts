import { h, type ComponentChild } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { otherZoneInWords } from '../../content/time.ts';
import { el } from '../../el.ts';
import { isEmpty, searchProblem } from '../../model/filter.ts';
import type { FeedState } from '../../state/feed.ts';
import { clearFilter, misses, startSearch } from '../../state/list-actions.ts';
import type { Open } from '../../state/opening.ts';
import { MAX_FOUND, type SearchState } from '../../state/search.ts';
import { lazy, useInspector, useStore } from '../context.ts';

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

interface Counts {
  rows: number;
  /** Entries that the page has. */
  loaded: number;
  /** Entries that the server has. */
  stored: number;
  older: FeedState['older'];
  filtered: boolean;
}

/** `12 of 1,204`: how many rows there are, and of how many. */
export function countInWords({ rows, loaded, stored, older, filtered }: Counts): string {
  const all = older === 'none' ? loaded : Math.max(stored, loaded);
  if (filtered) return countOf(rows, loaded);
  return older === 'none' ? plural(all, 'request', 'requests') : `${countOf(loaded, all)} loaded`;
}

/** What a filter says that finds nothing in what is loaded, while more is stored. */
export function noneInWords(loaded: number): string {
  return loaded === 1
    ? 'The loaded request does not match'
    : `None of the ${formatCount(loaded)} loaded requests match`;
}

/** What a filter has not looked at. */
export function gapsInWords({ older, unsure }: { older: FeedState['older']; unsure: number }): string[] {
  return [
    ...(older === 'none' ? [] : ['older entries are not loaded']),
    ...(unsure === 0 ? [] : [`${plural(unsure, 'body is', 'bodies are')} not wholly loaded`]),
  ];
}

/** `Searched 2,000 of 81,234 …, found 12`. */
export function searchInWords(search: SearchState, stored: number): string {
  const { running, found, bodySkipped, more } = search;
  const skipped = bodySkipped === 0 ? '' : `; ${plural(bodySkipped, 'body was', 'bodies were')} too long to look at`;
  const most = more && found.length >= MAX_FOUND ? ', as many as the page shows' : '';
  return `${progressInWords(search, stored)}${running ? ' …' : ''}, found ${formatCount(found.length)}${most}${skipped}`;
}

function progressInWords({ running, scanned, total, more }: SearchState, stored: number): string {
  if (!more) return `Searched all ${formatCount(stored)}`;
  if (total !== undefined) return `${formatCount(total)} match`;
  if (scanned === 0) return running ? 'Searching' : `Searched none of ${formatCount(stored)}`;
  return `Searched ${countOf(Math.min(scanned, stored), stored)}`;
}

function countOf(part: number, all: number): string {
  return `${formatCount(part)} of ${formatCount(all)}`;
}

function plural(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Whether times on the whole page are local ones or UTC. */
export function ZoneSwitch(): ComponentChild {
  const { zone } = useInspector().preferences;
  const now = useStore(zone);
  return el(
    'button',
    {
      class: 'quiet zone',
      title: otherZoneInWords(now),
      onClick: () => zone.set(now === 'utc' ? 'local' : 'utc'),
    },
    now === 'utc' ? 'Times: UTC' : 'Times: local',
  );
}

/** Whether a media query holds. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useLayoutEffect(() => {
    const list = matchMedia(query);
    const change = (): void => setHolds(list.matches);
    change();
    list.addEventListener('change', change);
    return () => list.removeEventListener('change', change);
  }, [query]);
  return holds;
}
