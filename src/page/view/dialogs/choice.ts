import type { ComponentChild } from 'preact';
import { el } from '../../el.ts';

interface ChoiceProps {
  /** Of the group: one of its choices is taken. */
  name: string;
  label: string;
  checked: boolean;
  choose: () => void;
}

export function Choice({ name, label, checked, choose }: ChoiceProps): ComponentChild {
  return el(
    'label',
    { class: 'dialog-choice' },
    el('input', { type: 'radio', name, checked, onChange: choose }),
    label,
  );
}
