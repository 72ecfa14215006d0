import { createContext, h, type FunctionComponent } from 'preact';
import { useContext, useEffect, useLayoutEffect, useState } from 'preact/hooks';
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

/** A view whose code is loaded when it is shown first. */
export function lazy<P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let loaded: FunctionComponent<P> | undefined;
  return function Lazy(props: P) {
    const { say } = useInspector();
    const [, draw] = useState(0);
    const show = (view: FunctionComponent<P>): void => {
      loaded = view;
      draw(1);
    };
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(show, () => say('Hookbay is unreachable: this part of the page could not be loaded'));
    }, []);
    return loaded === undefined ? null : h(loaded, props);
  };
}
