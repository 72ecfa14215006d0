import { h, type ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { el } from '../../el.ts';
import type { EndpointsState } from '../../state/endpoints.ts';
import { useInspector, useStore } from '../context.ts';
import { EndpointTable } from './endpoint-table.ts';
import { NewEndpoint } from './new-endpoint.ts';

/** What is shown while no endpoint is open. Whoever has one endpoint alone finds it open. */
export function StartPage(): ComponentChild {
  const { endpoints, go } = useInspector();
  const state = useStore(endpoints.state);
  const only = state.state === 'ready' && state.total === 1 ? state.list[0] : undefined;
  useEffect(() => {
    if (only !== undefined) go({ endpoint: only.id }, true);
  }, [only?.id]);
  return el('main', { class: 'start' }, content(state, only !== undefined));
}

function content({ state, list, error }: EndpointsState, leaving: boolean): ComponentChild {
  if (state === 'failed') return h(Failed, { error });
  if (state === 'loading' || leaving) return el('p', { class: 'hint', role: 'status' }, 'Loading your endpoints …');
  if (list.length === 0)
    return [
      el('h2', null, 'Create your first endpoint'),
      el('p', null, 'An endpoint is a URL. Whatever is sent to it is kept and shown here, as it was sent.'),
      el(
        'div',
        { class: 'buttons' },
        h(NewEndpoint, { label: 'Create an endpoint' }),
        h(More, { label: 'With an alias …' }),
      ),
    ];
  return [
    el('div', { class: 'start-head' }, el('h2', null, 'Your endpoints'), h(More, { label: 'New endpoint …' })),
    h(EndpointTable, { list }),
  ];
}

function More({ label }: { label: string }): ComponentChild {
  const { dialog } = useInspector();
  return el('button', { type: 'button', onClick: () => dialog.set({ name: 'create' }) }, label);
}

function Failed({ error }: { error: string | undefined }): ComponentChild {
  const { endpoints, session } = useInspector();
  return [
    el('h2', null, 'Your endpoints could not be read'),
    el('p', { class: 'boxed error', role: 'alert' }, error),
    el(
      'div',
      { class: 'buttons' },
      el('button', { type: 'button', class: 'primary', onClick: () => void endpoints.refresh() }, 'Try again'),
      el('button', { type: 'button', onClick: () => session.end() }, 'Use another token'),
    ),
  ];
}
