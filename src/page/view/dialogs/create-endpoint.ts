import { h, type ComponentChild } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { el } from '../../el.ts';
import { ApiError, messageOf } from '../../state/api.ts';
import { useInspector } from '../context.ts';
import { Modal } from './modal.ts';

type Field = 'alias' | 'permanent' | 'form';
interface Problem {
  field: Field;
  text: string;
}

/** What is wrong is said by the API, next to the field that it names. */
export function CreateEndpoint(): ComponentChild {
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const fields = useRef<HTMLDivElement>(null);
  const create = useCreate();
  const submit = async (): Promise<void> => {
    setBusy(true);
    const found = await create(new FormData(fields.current?.closest('form') as HTMLFormElement));
    setBusy(false);
    setProblem(found);
    if (found !== undefined) fields.current?.querySelector<HTMLElement>(`[name=${found.field}]`)?.focus();
  };
  return h(
    Modal,
    {
      title: 'New endpoint',
      onSubmit: () => void submit(),
      actions: el('button', { type: 'submit', class: 'primary', disabled: busy }, 'Create'),
    },
    el(
      'div',
      { class: 'form', ref: fields },
      aliasField(problem),
      permanentField(problem),
      problem?.field === 'form' && el('p', { class: 'error', role: 'alert' }, problem.text),
    ),
  );
}

/** Creates what a form says, and opens it, or returns what is wrong. */
function useCreate(): (form: FormData) => Promise<Problem | undefined> {
  const { endpoints, dialog, go, say } = useInspector();
  return async (form) => {
    const given = form.get('alias');
    const alias = typeof given === 'string' ? given.trim() : '';
    try {
      const { id } = await endpoints.create({
        ...(form.get('permanent') !== null && { permanent: true }),
        ...(alias !== '' && { alias }),
      });
      dialog.set(undefined);
      say('The endpoint is created');
      go({ endpoint: id });
      return undefined;
    } catch (error) {
      return { field: fieldOf(error), text: withoutField(messageOf(error)) };
    }
  };
}

/** The field that an error of the API is about; its messages name it. */
export function fieldOf(error: unknown): Field {
  if (!(error instanceof ApiError) || ![400, 403, 409].includes(error.status)) return 'form';
  return /\balias(?:es)?\b/.test(error.message) ? 'alias' : /\bpermanent\b/.test(error.message) ? 'permanent' : 'form';
}

/** The text stands beside the field. */
function withoutField(text: string): string {
  const said = text.replace(/^(?:alias|permanent): /, '');
  return said === text ? text : `${said.charAt(0).toUpperCase()}${said.slice(1)}`;
}

function aliasField(problem: Problem | undefined): ComponentChild {
  const isWrong = problem?.field === 'alias';
  return el(
    'div',
    { class: 'field' },
    el('label', { for: 'alias' }, 'Alias'),
    el('input', {
      id: 'alias',
      autofocus: true,
      name: 'alias',
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: false,
      placeholder: 'none',
      'aria-describedby': isWrong ? 'alias-problem alias-hint' : 'alias-hint',
      'aria-invalid': isWrong ? 'true' : undefined,
    }),
    isWrong && el('p', { id: 'alias-problem', class: 'error', role: 'alert' }, problem.text),
    el('p', { id: 'alias-hint', class: 'hint' }, 'A name for its URL: 3 to 48 of a-z, 0-9 and inner hyphens.'),
  );
}

function permanentField(problem: Problem | undefined): ComponentChild {
  const isWrong = problem?.field === 'permanent';
  return el(
    'div',
    { class: 'field' },
    el(
      'label',
      { class: 'check' },
      el('input', {
        type: 'checkbox',
        name: 'permanent',
        'aria-describedby': isWrong ? 'permanent-problem permanent-hint' : 'permanent-hint',
        'aria-invalid': isWrong ? 'true' : undefined,
      }),
      ' Permanent',
    ),
    isWrong && el('p', { id: 'permanent-problem', class: 'error', role: 'alert' }, problem.text),
    el('p', { id: 'permanent-hint', class: 'hint' }, 'Otherwise it expires after the time that your plan gives it.'),
  );
}
