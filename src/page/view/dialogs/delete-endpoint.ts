import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import { START } from '../../model/address.ts';
import { ApiError, messageOf, type Api } from '../../state/api.ts';
import { findEndpoint } from '../../state/endpoints.ts';
import { useInspector, useStore } from '../context.ts';
import { nameOf } from '../start/in-words.ts';
import { Modal } from './modal.ts';

/** Asks, with the number of entries that go. */
export function DeleteEndpoint({ endpointId }: { endpointId: string }): ComponentChild {
  const { api, endpoints, dialog, go, say } = useInspector();
  const record = useStore(endpoints.state, (state) => findEndpoint(state, endpointId));
  const [name] = useState(() => nameOf(record ?? { id: endpointId, alias: null }));
  const stored = useStored(api, endpointId);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const remove = async (): Promise<void> => {
    setBusy(true);
    try {
      await endpoints.remove(endpointId);
      dialog.set(undefined);
      say(`The endpoint ${name} is deleted`);
      go(START, true);
    } catch (error) {
      setBusy(false);
      setProblem(messageOf(error));
    }
  };
  return h(
    Modal,
    {
      title: `Delete endpoint ${name}?`,
      actions: el(
        'button',
        { type: 'button', class: 'danger', disabled: busy || stored === COUNTING, onClick: () => void remove() },
        'Delete endpoint',
      ),
    },
    el(
      'div',
      { class: 'form' },
      el('p', { role: 'status' }, stored),
      el('p', null, 'Its URL stops capturing: senders get 404. This cannot be undone.'),
      problem !== undefined && el('p', { class: 'error', role: 'alert' }, problem),
    ),
  );
}

const COUNTING = 'Counting its requests …';

/** How many entries go with it, in words. */
function useStored(api: Api, endpointId: string): string {
  const [text, setText] = useState(COUNTING);
  useEffect(() => {
    const query = new URLSearchParams({ limit: '1', bodyBytes: '0' });
    api.get<{ total: number }>(`/api/endpoints/${endpointId}/requests`, query).then(
      ({ body: { total } }) => setText(goInWords(total)),
      (error: unknown) =>
        setText(
          error instanceof ApiError && error.status === 404
            ? 'It was deleted elsewhere.'
            : `All requests that it captured are deleted too (they could not be counted: ${messageOf(error)}).`,
        ),
    );
  }, [endpointId]);
  return text;
}

function goInWords(total: number): string {
  if (total === 0) return 'It holds no requests.';
  return total === 1
    ? 'The one request that it holds is deleted too.'
    : `The ${formatCount(total)} requests that it holds are deleted too.`;
}
