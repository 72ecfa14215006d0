import type { ComponentChild, ComponentChildren } from 'preact';
import { el } from '../../el.ts';

interface FieldProps {
  /** Of the control, whose description (`aria-describedby`) is `<id>-about`. */
  id: string;
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  children?: ComponentChildren;
}

/** A control with its label, a hint, and what the API said of it. */
export function Field({ id, label, hint, error, children }: FieldProps): ComponentChild {
  return el(
    'div',
    { class: 'field', 'data-bad': error === undefined ? undefined : 'true' },
    el('label', { for: id }, label),
    children,
    el(
      'div',
      { id: `${id}-about` },
      hint !== undefined && el('p', { class: 'hint' }, hint),
      error !== undefined && el('p', { class: 'error', role: 'alert' }, error),
    ),
  );
}
