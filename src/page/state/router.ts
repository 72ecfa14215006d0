import { changeAddress, formatAddress, parseAddress, type Address } from '../model/address.ts';
import { createStore, type Store } from './store.ts';
import { openVisited } from './visited.ts';

export interface Router {
  address: Store<Address>;
  /** Goes to an address: a new entry of the history, unless `replace`. */
  go: (change: Partial<Address>, replace?: boolean) => void;
}

/**
 * What the tab's address says, and the other way round.
 * @param inReach what of a wanted address may be shown
 * @param moved called after each change
 */
export function createRouter(inReach: (wanted: Address) => Address, moved: () => void): Router {
  const address = createStore(parseAddress(location.hash));
  const visited = openVisited();

  addEventListener('hashchange', () => {
    visited.drop();
    address.set(inReach(parseAddress(location.hash)));
    moved();
  });

  return {
    address,
    go(change, replace = false) {
      const before = address.get();
      const next = inReach(changeAddress(before, change));
      const text = formatAddress(next);
      if (text === formatAddress(before)) return;
      if (replace) visited.replace(text);
      else visited.push(text);
      address.set(next);
      moved();
    },
  };
}
