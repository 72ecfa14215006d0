import { h, type ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';
import { EndpointTable } from './endpoint-table.ts';
import { NewEndpoint } from './new-endpoint.ts';

/** For an address of an endpoint that the user does not have; which of the reasons it is, the API does not say. */
export function Gone({ endpointId }: { endpointId: string }): ComponentChild {
  const { endpoints } = useInspector();
  const others = useStore(endpoints.state, (now) => now.list).filter(({ id }) => id !== endpointId);
  useEffect(() => void endpoints.refresh(), [endpointId]);
  return el(
    'main',
    { class: 'start' },
    el('h2', null, 'There is no such endpoint here'),
    el(
      'p',
      { role: 'alert' },
      'The endpoint of this address was deleted, has expired long ago, or belongs to somebody else.',
    ),
    el('p', { class: 'hint' }, el('code', null, endpointId)),
    others.length > 0 && [el('h3', null, 'Yours'), h(EndpointTable, { list: others })],
    el('div', { class: 'buttons' }, h(NewEndpoint, null)),
  );
}
