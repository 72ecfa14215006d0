import { isEmpty, NO_FILTER, searchProblem } from '../model/filter.ts';
import type { Inspector } from './inspector.ts';
import type { Open } from './opening.ts';

type Parts = Pick<Inspector, 'open' | 'address' | 'selection' | 'go'>;

/**
 * Opens the row that is some rows further down in the list; `Infinity` is the last one.
 * @param select whether the rows up to that one are selected in place of opening it
 */
export function move({ open, address, selection, go }: Parts, down: number, select = false): void {
  const rows = open.get()?.shown.state.get().rows ?? [];
  const opened = address.get().request;
  const from = (select ? selection.head() : undefined) ?? opened;
  const at = from === undefined ? -1 : rows.findLastIndex(({ id }) => id === from);
  const place = at === -1 ? -1 : rows.length - 1 - at;
  const next = rows.at(-1 - Math.min(Math.max(0, place + down), rows.length - 1));
  if (next === undefined) return;
  if (select) return selection.extend(rows, opened, next.id);
  openRow({ address, selection, go }, next.id);
}

/** Moving from row to row is one step of the history. */
export function openRow({ address, selection, go }: Omit<Parts, 'open'>, id: string): void {
  selection.clear();
  go({ request: id }, address.get().request !== undefined);
}

/** Whether the whole endpoint may have matches that are not in the list. */
export function misses({ feed, search, shown }: Open): boolean {
  const { filter, more } = search.state.get();
  if (filter !== undefined && !more) return false;
  return feed.state.get().older !== 'none' || shown.state.get().unsure > 0;
}

/** Searches the whole endpoint by the filter, where that can find more than the list has. */
export function startSearch({ address }: Pick<Inspector, 'address'>, open: Open): void {
  const { filter } = address.get();
  if (isEmpty(filter) || searchProblem(filter) !== undefined || !misses(open)) return;
  open.search.start(open.feed.endpointId, filter);
}

export function clearFilter({ go }: Pick<Inspector, 'go'>): void {
  go({ filter: NO_FILTER });
}
