import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { ShareCreated } from '../../../domain/answers.ts';
import { el } from '../../el.ts';
import { useInspector } from '../context.ts';
import { useTask } from '../task.ts';
import { Choice } from './choice.ts';
import { Field } from './field.ts';

interface NewShareProps {
  endpointId: string;
  requestId: string | undefined;
  onCreated: (share: ShareCreated) => void;
}

const TIMES: readonly [text: string, seconds: number][] = [
  ['1 hour', 3_600],
  ['1 day', 86_400],
  ['7 days', 604_800],
  ['30 days', 2_592_000],
];

const HIDDEN =
  'Hides the values of headers and query parameters whose names say secret (authorization, cookie, signature, token, ' +
  'password …), and the sender’s address. Bodies and paths are shown as they were sent.';

/** Whether the link opens the entry alone. */
function Reach({ ofEntry, set }: { ofEntry: boolean; set: (ofEntry: boolean) => void }): ComponentChild {
  const choice = (label: string, value: boolean): ComponentChild =>
    h(Choice, { name: 'share-reach', label, checked: ofEntry === value, choose: () => set(value) });
  return el(
    'fieldset',
    { class: 'choices' },
    el('legend', null, 'The link opens'),
    choice('This request', true),
    choice('The whole endpoint', false),
  );
}

/** A link to be made. What it may be is the API's word. */
export function NewShare({ endpointId, requestId, onCreated }: NewShareProps): ComponentChild {
  const { api } = useInspector();
  const [ofEntry, setOfEntry] = useState(requestId !== undefined);
  const [expiresIn, setExpiresIn] = useState(86_400);
  const [redact, setRedact] = useState(true);
  const [untilNow, setUntilNow] = useState(false);
  const [label, setLabel] = useState('');
  const { run, busy, error } = useTask();
  const create = (event: Event): void => {
    event.preventDefault();
    const path = ofEntry && requestId !== undefined ? `/api/requests/${requestId}` : `/api/endpoints/${endpointId}`;
    const settings = {
      expiresIn,
      redact,
      label: label === '' ? null : label,
      ...(!ofEntry && untilNow && { until: 'now' }),
    };
    run(async () => onCreated(await api.call<ShareCreated>('POST', `${path}/shares`, settings)));
  };
  const isLabelError = error?.startsWith('label: ') === true;
  return el(
    'form',
    { class: 'new-share', 'aria-label': 'New link', onSubmit: create },
    requestId !== undefined && h(Reach, { ofEntry, set: setOfEntry }),
    el(
      'div',
      { class: 'field-row' },
      h(
        Field,
        { id: 'share-time', label: 'It ends after' },
        el(
          'select',
          {
            id: 'share-time',
            value: String(expiresIn),
            onChange: (event) => setExpiresIn(Number(event.currentTarget.value)),
          },
          TIMES.map(([text, seconds]) => el('option', { key: text, value: String(seconds) }, text)),
        ),
      ),
      h(
        Field,
        { id: 'share-label', label: 'Label (for yourself)', error: isLabelError ? error : undefined },
        el('input', {
          id: 'share-label',
          value: label,
          autocomplete: 'off',
          'aria-describedby': 'share-label-about',
          onInput: (event) => setLabel(event.currentTarget.value),
        }),
      ),
    ),
    check('Hide secrets', redact, setRedact, 'share-redact-about'),
    el('p', { class: 'hint', id: 'share-redact-about' }, HIDDEN),
    !ofEntry && check('Only what came until now', untilNow, setUntilNow),
    error !== undefined && !isLabelError && el('p', { class: 'error', role: 'alert' }, error),
    el('button', { type: 'submit', class: 'primary', disabled: busy }, 'Create the link'),
  );
}

function check(text: string, checked: boolean, set: (on: boolean) => void, about?: string): ComponentChild {
  return el(
    'label',
    { class: 'dialog-choice' },
    el('input', {
      type: 'checkbox',
      checked,
      ...(about !== undefined && { 'aria-describedby': about }),
      onChange: (event) => set(event.currentTarget.checked),
    }),
    text,
  );
}
