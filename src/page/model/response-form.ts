import type { CustomResponseRecord } from '../../domain/answers.ts';

/** A custom response as it is edited: whatever was typed, right or not. */
export interface ResponseForm {
  status: string;
  headers: HeaderRow[];
  body: string;
  bodyEncoding: CustomResponseRecord['bodyEncoding'];
  delayMs: string;
}

export interface HeaderRow {
  /** Tells rows apart while they are edited. */
  key: number;
  name: string;
  value: string;
}

export type ResponseField = 'status' | 'headers' | 'body' | 'delayMs';

const FIELDS: Record<string, ResponseField> = {
  status: 'status',
  headers: 'headers',
  body: 'body',
  bodyEncoding: 'body',
  delayMs: 'delayMs',
};

export const EMPTY_FORM: ResponseForm = { status: '200', headers: [], body: '', bodyEncoding: 'utf8', delayMs: '0' };

/** Answers that people test their senders with. */
export const PRESETS: readonly { name: string; about: string; form: ResponseForm }[] = [
  { name: '204', about: '204 without a body', form: { ...EMPTY_FORM, status: '204' } },
  {
    name: '500',
    about: '500, to see whether the sender tries again',
    form: { ...EMPTY_FORM, status: '500', body: '{"error":"not now"}' },
  },
  {
    name: '429',
    about: '429 with Retry-After, to see whether the sender waits',
    form: {
      ...EMPTY_FORM,
      status: '429',
      headers: [{ key: 0, name: 'Retry-After', value: '30' }],
      body: '{"error":"slow down"}',
    },
  },
  { name: 'Slow', about: '200 after 10 seconds', form: { ...EMPTY_FORM, body: '{"ok":true}', delayMs: '10000' } },
];

export function formOf({ status, headers, body, bodyEncoding, delayMs }: CustomResponseRecord): ResponseForm {
  const rows = Object.entries(headers).map(([name, value], key) => ({ key, name, value }));
  return { status: String(status), headers: rows, body, bodyEncoding, delayMs: String(delayMs) };
}

/** Whether two forms say the same; rows of headers that are still empty say nothing. */
export function sameForm(a: ResponseForm, b: ResponseForm): boolean {
  const said = (form: ResponseForm): unknown => ({
    ...form,
    headers: filledRows(form).map(({ name, value }) => [name, value]),
  });
  return JSON.stringify(said(a)) === JSON.stringify(said(b));
}

function filledRows({ headers }: ResponseForm): HeaderRow[] {
  return headers.filter(({ name, value }) => name !== '' || value !== '');
}

/** What the API is asked to set; it says what is wrong with it, but for a name that JSON cannot repeat. */
export function inputOf(form: ResponseForm): unknown {
  const { status, body, bodyEncoding, delayMs } = form;
  const rows = filledRows(form);
  const names = rows.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new Error(`headers: "${twice}" is there twice`);
  return {
    status: numberOf(status),
    headers: Object.fromEntries(rows.map(({ name, value }) => [name.trim(), value])),
    body,
    bodyEncoding,
    delayMs: numberOf(delayMs),
  };
}

/** The field that an error of the API names, as in `headers: …` or `headers.X-Shop: …`. */
export function fieldOf(error: string): ResponseField | undefined {
  const name = /^(\w+)(?:\.[^:]*)?: /.exec(error)?.[1] ?? '';
  return Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
}

/** In words: `429, 1 header, 21 bytes of text, after 1,500 ms`. */
export function responseInWords({ status, headers, body, bodyEncoding, delayMs }: CustomResponseRecord): string {
  const count = Object.keys(headers).length;
  const bytes = bodyEncoding === 'utf8' ? new TextEncoder().encode(body).length : atob(body).length;
  return [
    `status ${status}`,
    `${count} ${count === 1 ? 'header' : 'headers'}`,
    bytes === 0 ? 'no body' : `a body of ${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`,
    ...(delayMs > 0 ? [`after ${delayMs} ms`] : []),
  ].join(', ');
}

/** Null where it is no number, which the API refuses in its own words. */
function numberOf(text: string): number | null {
  return text.trim() === '' || Number.isNaN(Number(text)) ? null : Number(text);
}
