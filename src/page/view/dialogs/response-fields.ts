import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { fieldOf, type HeaderRow, type ResponseField, type ResponseForm } from '../../model/response-form.ts';
import type { Settings } from '../../state/settings.ts';
import { Field } from './field.ts';

interface FieldsProps {
  form: ResponseForm;
  setForm: (form: ResponseForm) => void;
  /** Shown at the field that it names. */
  error: string | undefined;
  mode: Settings['customResponses'];
}

export function ResponseFields({ form, setForm, error, mode }: FieldsProps): ComponentChild {
  const set = (change: Partial<ResponseForm>): void => setForm({ ...form, ...change });
  const errorAt = (field: ResponseField): string | undefined =>
    error !== undefined && fieldOf(error) === field ? error : undefined;
  const number = (id: 'status' | 'delayMs', label: string, hint: string, max: number): ComponentChild =>
    h(
      Field,
      { id: `response-${id}`, label, hint, error: errorAt(id) },
      el('input', {
        id: `response-${id}`,
        type: 'number',
        min: 0,
        max,
        value: form[id],
        'aria-describedby': `response-${id}-about`,
        onInput: (event) => set({ [id]: event.currentTarget.value }),
      }),
    );
  return [
    el(
      'div',
      { class: 'field-row' },
      number('status', 'Status', mode === 'redirects' ? '200 to 599' : '200 to 599, no redirects here', 599),
      number('delayMs', 'Delay in ms', '0 to 10,000', 10_000),
    ),
    h(HeaderRows, { rows: form.headers, error: errorAt('headers'), onChange: (headers) => set({ headers }) }),
    h(
      Field,
      {
        id: 'response-body',
        label: 'Body',
        hint: 'Up to 16 KiB. Without a Content-Type header it is sent as JSON if it is JSON, otherwise as text.',
        error: errorAt('body'),
      },
      el('textarea', {
        id: 'response-body',
        rows: 6,
        spellcheck: false,
        value: form.body,
        'aria-describedby': 'response-body-about',
        onInput: (event) => set({ body: event.currentTarget.value }),
      }),
      el(
        'select',
        {
          'aria-label': 'Form of the body',
          value: form.bodyEncoding,
          onChange: (event) => set({ bodyEncoding: event.currentTarget.value as ResponseForm['bodyEncoding'] }),
        },
        el('option', { value: 'utf8' }, 'as text'),
        el('option', { value: 'base64' }, 'as Base64'),
      ),
    ),
  ];
}

interface HeaderRowsProps {
  rows: HeaderRow[];
  error: string | undefined;
  onChange: (rows: HeaderRow[]) => void;
}

function HeaderRows({ rows, error, onChange }: HeaderRowsProps): ComponentChild {
  const change = (key: number, part: Partial<HeaderRow>): void =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...part } : row)));
  const add = (): void =>
    onChange([...rows, { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, name: '', value: '' }]);
  return el(
    'fieldset',
    { class: 'field', 'data-bad': error === undefined ? undefined : 'true' },
    el('legend', null, 'Headers'),
    rows.map(({ key, name, value }, i) =>
      el(
        'div',
        { class: 'header-row', key },
        headerInput(`Name of header ${i + 1}`, 'Name', name, (text) => change(key, { name: text })),
        headerInput(`Value of header ${i + 1}`, 'Value', value, (text) => change(key, { value: text })),
        el(
          'button',
          {
            type: 'button',
            class: 'quiet',
            'aria-label': `Remove header ${i + 1}`,
            onClick: () => onChange(rows.filter((row) => row.key !== key)),
          },
          '×',
        ),
      ),
    ),
    error !== undefined && el('p', { class: 'error', role: 'alert' }, error),
    el('button', { type: 'button', onClick: add }, 'Add a header'),
  );
}

function headerInput(
  label: string,
  placeholder: string,
  value: string,
  onInput: (text: string) => void,
): ComponentChild {
  return el('input', {
    'aria-label': label,
    placeholder,
    value,
    spellcheck: false,
    autocomplete: 'off',
    onInput: (event) => onInput(event.currentTarget.value),
  });
}
