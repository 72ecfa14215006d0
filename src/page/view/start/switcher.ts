import type { ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';

/** Changes between endpoints. */
export function Switcher(): ComponentChild {
  const { endpoints, address, go } = useInspector();
  const { list } = useStore(endpoints.state);
  const current = useStore(address, (now) => now.endpoint);
  return el(
    'select',
    {
      'aria-label': 'Endpoint',
      value: current ?? '',
      onChange: (event) => go({ endpoint: event.currentTarget.value }),
    },
    ...list.map((endpoint) => el('option', { value: endpoint.id, key: endpoint.id }, endpoint.alias ?? endpoint.id)),
  );
}
