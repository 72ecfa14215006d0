import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { CustomResponseRecord, EndpointRecord } from '../../../domain/answers.ts';
import { el } from '../../el.ts';
import {
  EMPTY_FORM,
  fieldOf,
  formOf,
  inputOf,
  PRESETS,
  responseInWords,
  sameForm,
  type ResponseForm,
} from '../../model/response-form.ts';
import { messageOf, type Api } from '../../state/api.ts';
import { useInspector } from '../context.ts';
import { useTask } from '../task.ts';
import { Modal } from './modal.ts';
import { ResponseFields } from './response-fields.ts';

/** Null is the receipt. */
type Current = CustomResponseRecord | null;

/** What an endpoint answers in place of the receipt. */
export function ResponseEditor({ endpointId }: { endpointId: string }): ComponentChild {
  const { api, endpoints, dialog, say, settings } = useInspector();
  const path = responsePath(endpointId);
  const [current, setCurrent] = useState<Current>();
  const [failed, setFailed] = useState<string>();
  const [form, setForm] = useState(EMPTY_FORM);
  const task = useTask();
  useEffect(() => {
    readResponse(api, endpointId).then(begin, (error: unknown) => setFailed(messageOf(error)));
  }, []);

  function begin(read: Current): void {
    setCurrent(read);
    setForm(formOfCurrent(read));
  }

  function end(answer: string): void {
    dialog.set(undefined);
    say(`This endpoint answers with ${answer}`);
    // The header says whether there is a custom response.
    void endpoints.refresh();
  }

  const save = (): void =>
    task.run(async () => end(responseInWords(await api.call<CustomResponseRecord>('PUT', path, inputOf(form)))));
  const useReceipt = (): void =>
    task.run(async () => {
      await api.call('DELETE', path);
      end('the receipt');
    });

  if (current === undefined) return h(Modal, { title: TITLE }, failed ?? 'Reading what this endpoint answers …');
  const isOff = settings.customResponses === 'off';
  const { error, busy } = task;
  return h(
    Modal,
    {
      title: TITLE,
      unsaved: isOff || sameForm(form, formOfCurrent(current)) ? undefined : 'What you changed is not saved.',
      ...(!isOff && { onSubmit: save }),
      actions: [
        !isOff && el('button', { type: 'submit', class: 'primary', disabled: busy }, 'Save'),
        current !== null && el('button', { type: 'button', disabled: busy, onClick: useReceipt }, 'Use the receipt'),
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
      'Senders get it once their request is kept. Where a request is not kept, because the endpoint has expired, the ' +
        'body is too large or the daily cap is reached, they get Hookbay’s own error. Slack checks a new URL by a ' +
        'challenge, which only the receipt answers: use the receipt until Slack has accepted the URL.',
    ),
  );
}

const TITLE = 'Custom response';

function responsePath(endpointId: string): string {
  return `/api/endpoints/${endpointId}/response`;
}

/** Asks for a response where there is one: browsers report each 404 as an error. */
async function readResponse(api: Api, endpointId: string): Promise<Current> {
  const { body: endpoint } = await api.get<EndpointRecord>(`/api/endpoints/${endpointId}`);
  if (endpoint.custom_response !== true) return null;
  return (await api.get<CustomResponseRecord>(responsePath(endpointId))).body;
}

function formOfCurrent(current: Current): ResponseForm {
  return current === null ? EMPTY_FORM : formOf(current);
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
