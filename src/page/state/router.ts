import { changeAddress, formatAddress, parseAddress, type Address } from '../model/address.ts';
import { createStore, type Store } from './store.ts';

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

/** The history of the tab, as far as the page writes it. */
export interface Visited {
  push(address: string): void;
  /** Changes the newest entry: at once, or soon after the change before. */
  replace(address: string): void;
  /** The address was changed by someone else. */
  drop(): void;
}

/** Safari refuses more than 100 changes in 30 seconds; a key that is held down makes 30 a second. */
const REPLACE_MS = 350;

export function openVisited(): Visited {
  let wanted: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function write(): void {
    timer = undefined;
    if (wanted === undefined) return;
    history.replaceState(null, '', wanted);
    wanted = undefined;
    timer = setTimeout(write, REPLACE_MS);
  }

  function drop(): void {
    clearTimeout(timer);
    timer = undefined;
    wanted = undefined;
  }

  return {
    drop,
    push(address) {
      clearTimeout(timer);
      write();
      history.pushState(null, '', address);
    },
    replace(address) {
      wanted = address;
      if (timer === undefined) write();
    },
  };
}
