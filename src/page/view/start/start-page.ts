import type { ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';

/** What is shown while no endpoint is open. */
export function StartPage(): ComponentChild {
  const { endpoints, go } = useInspector();
  const { list, state, error } = useStore(endpoints.state);
  return el(
    'main',
    { class: 'start' },
    error !== undefined && el('p', { class: 'error', role: 'alert' }, error),
    state === 'ready' &&
      list.map((endpoint) => el('a', { href: `#/e/${endpoint.id}`, key: endpoint.id }, endpoint.alias ?? endpoint.id)),
    el(
      'button',
      { class: 'primary', onClick: () => void endpoints.create({}).then(({ id }) => go({ endpoint: id })) },
      'Create an endpoint',
    ),
  );
}
