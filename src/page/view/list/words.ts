import { formatCount } from '../../content/size.ts';
import type { FeedState } from '../../state/feed.ts';
import { MAX_FOUND, type SearchState } from '../../state/search.ts';

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
