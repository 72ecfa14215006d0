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
  const all = formatCount(older === 'none' ? loaded : Math.max(stored, loaded));
  if (filtered) return `${formatCount(rows)} of ${formatCount(loaded)}`;
  return older === 'none'
    ? `${all} ${loaded === 1 ? 'request' : 'requests'}`
    : `${formatCount(loaded)} of ${all} loaded`;
}

/** What a filter has not looked at. */
export function gapsInWords({ older, unsure }: { older: FeedState['older']; unsure: number }): string[] {
  return [
    ...(older === 'none' ? [] : ['older entries are not loaded']),
    ...(unsure === 0 ? [] : [`${formatCount(unsure)} ${unsure === 1 ? 'body is' : 'bodies are'} not wholly loaded`]),
  ];
}

/** `Searched 2,000 of 81,234 …, found 12`. */
export function searchInWords(search: SearchState, stored: number): string {
  const { running, found, scanned, bodySkipped, total, more } = search;
  const number = formatCount(found.length);
  const dots = running ? ' …' : '';
  const part = total !== undefined && more ? `Found ${number} of ${formatCount(total)}${dots}` : undefined;
  const done = !running && !more;
  const looked = scanned === 0 || done ? 'all ' + formatCount(stored) : countOf(Math.min(scanned, stored), stored);
  const skipped =
    bodySkipped === 0 ? '' : `; ${formatCount(bodySkipped)} ${bodySkipped === 1 ? 'body was' : 'bodies were'} too long`;
  const most = found.length >= MAX_FOUND && more ? ', which are as many as the page shows' : '';
  return `${part ?? `${running && scanned === 0 ? 'Searching' : 'Searched'} ${looked}${dots}, found ${number}`}${most}${skipped}`;
}

function countOf(part: number, all: number): string {
  return `${formatCount(part)} of ${formatCount(all)}`;
}
