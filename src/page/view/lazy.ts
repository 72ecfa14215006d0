import { h, type FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useInspector } from './context.ts';

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
