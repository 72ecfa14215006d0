import { createContext } from 'preact';
import { useContext, useLayoutEffect, useState } from 'preact/hooks';
import type { Inspector } from '../state/inspector.ts';
import type { Store } from '../state/store.ts';

export const InspectorContext = createContext<Inspector | undefined>(undefined);

export function useInspector(): Inspector {
  const inspector = useContext(InspectorContext);
  if (inspector === undefined) throw new Error('A view needs the inspector around it');
  return inspector;
}

/** The value of a store, or a part of it; the view is drawn again when that changes. */
export function useStore<T>(store: Store<T>): T;
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S;
export function useStore<T, S>(store: Store<T>, select?: (value: T) => S): T | S {
  const [, draw] = useState(0);
  const read = (): T | S => (select === undefined ? store.get() : select(store.get()));
  const shown = read();
  useLayoutEffect(() => {
    let last = shown;
    const compare = (): void => {
      const now = read();
      if (Object.is(now, last)) return;
      last = now;
      draw((count) => count + 1);
    };
    // It may have changed between drawing and here.
    compare();
    return store.subscribe(compare);
  });
  return shown;
}
