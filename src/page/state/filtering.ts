import { isEmpty, NO_FILTER, searchProblem } from '../model/filter.ts';
import type { Inspector } from './inspector.ts';
import type { Open } from './opening.ts';

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
