import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { CustomResponseRecord } from '../../../domain/answers.ts';
import { el } from '../../el.ts';
import {
  EMPTY_FORM,
  fieldOf,
  formOf,
  inputOf,
  PRESETS,
  responseInWords,
  type ResponseForm,
} from '../../model/response-form.ts';
import { ApiError, messageOf } from '../../state/api.ts';
import { useInspector } from '../context.ts';
import { useTask } from '../task.ts';
import { Modal } from './modal.ts';
import { ResponseFields } from './response-fields.ts';

/** Null is the receipt. */
type Current = CustomResponseRecord | null;

/** What an endpoint answers in place of the receipt. */
export function ResponseEditor({ endpointId }: { endpointId: string }): ComponentChild {
  const { api, dialog, say, settings } = useInspector();
  const path = `/api/endpoints/${endpointId}/response`;
  const [current, setCurrent] = useState<Current>();
  const [failed, setFailed] = useState<string>();
  const [form, setForm] = useState(EMPTY_FORM);
  const task = useTask();
  useEffect(() => {
    readResponse().then(begin, (error: unknown) => setFailed(messageOf(error)));
  }, []);

  function begin(read: Current): void {
    setCurrent(read);
    setForm(read === null ? EMPTY_FORM : formOf(read));
  }

  async function readResponse(): Promise<Current> {
    try {
      return (await api.get<CustomResponseRecord>(path)).body;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  const save = (): void =>
    task.run(async () => {
      const saved = await api.call<CustomResponseRecord>('PUT', path, inputOf(form));
      dialog.set(undefined);
      say(`This endpoint answers with ${responseInWords(saved)}`);
    });
  const useReceipt = (): void =>
    task.run(async () => {
      await api.call('DELETE', path);
      dialog.set(undefined);
      say('This endpoint answers with the receipt');
    });

  if (current === undefined) return h(Modal, { title: 'Response' }, failed ?? 'Reading what this endpoint answers …');
  const isOff = settings.customResponses === 'off';
  const { error, busy } = task;
  return h(
    Modal,
    {
      title: 'Response',
      unsaved: isOff || sameForm(form, current) ? undefined : 'What you changed is not saved.',
      ...(!isOff && { onSubmit: save }),
      actions: [
        current !== null && el('button', { type: 'button', disabled: busy, onClick: useReceipt }, 'Use the receipt'),
        !isOff && el('button', { type: 'submit', class: 'primary', disabled: busy }, 'Save'),
      ],
    },
    el('p', { class: 'answered-now' }, 'Now: ', currentInWords(current), '.'),
    isOff
      ? el('p', { class: 'warning' }, 'This installation sends no custom responses (CUSTOM_RESPONSES is off).')
      : [h(Presets, { use: setForm }), h(ResponseFields, { form, setForm, error, mode: settings.customResponses })],
    error !== undefined && (isOff || fieldOf(error) === undefined) && el('p', { class: 'error', role: 'alert' }, error),
    el(
      'p',
      { class: 'hint' },
      'The response is sent after the capture is kept. Refusals stay Hookbay’s own, and so does Slack’s challenge: ' +
        'only the receipt answers that.',
    ),
  );
}

function sameForm(form: ResponseForm, current: Current): boolean {
  return JSON.stringify(form) === JSON.stringify(current === null ? EMPTY_FORM : formOf(current));
}

function currentInWords(current: Current): string {
  return current === null ? 'the receipt, status 200 with the id of the capture' : responseInWords(current);
}

function Presets({ use }: { use: (form: ResponseForm) => void }): ComponentChild {
  return el(
    'div',
    { class: 'presets', role: 'group', 'aria-label': 'Start from' },
    el('span', { class: 'hint' }, 'Start from'),
    PRESETS.map(({ name, about, form }) =>
      el('button', { type: 'button', key: name, title: about, onClick: () => use(form) }, name),
    ),
  );
}
