import { useEffect } from 'preact/hooks';
import { useInspector, useStore } from './context.ts';

/** The tab's title: what is open, and how much arrived unseen. */
export function useTitle(): void {
  const { address, endpoints, unread } = useInspector();
  const count = useStore(unread.count);
  const id = useStore(address, ({ endpoint }) => endpoint);
  const alias = useStore(endpoints.state, ({ list }) => list.find((endpoint) => endpoint.id === id)?.alias);
  useEffect(() => {
    const name = id === undefined ? 'Hookbay' : `${alias ?? id.slice(0, 8)} · Hookbay`;
    document.title = count === 0 ? name : `(${count}) ${name}`;
  }, [count, id, alias]);
}
