import { h, type ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import { formFields } from '../../../content/fields.ts';
import { isJson } from '../../../content/json.ts';
import { PairsTable } from '../pairs-table.ts';
import { JsonView } from './json-view.ts';

const JSON_LINES_AT_FIRST = 100;

/** The fields of a form. Slack and others send JSON in a field. */
export function FormView({ text }: { text: string }): ComponentChild {
  // The text is bounded, so its fields are.
  const fields = useMemo(() => formFields(text, Infinity), [text]);
  return h(PairsTable, { label: 'Form fields', pairs: fields, show: showJson });
}

function showJson(value: string): ComponentChild {
  return /^[[{]/.test(value) && isJson(value) ? h(JsonView, { text: value, limit: JSON_LINES_AT_FIRST }) : undefined;
}
