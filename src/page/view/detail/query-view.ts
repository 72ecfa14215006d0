import { h, type ComponentChild } from 'preact';
import { formFields } from '../../content/fields.ts';
import { targetOf } from '../../content/message.ts';
import { el } from '../../el.ts';
import type { Entry } from '../../model/entry.ts';
import { CopyButton } from '../copy.ts';
import { LongText } from './body/long-text.ts';
import { PairsTable } from './pairs-table.ts';

/** Names and values of the query, decoded, and the query as it was sent. */
export function QueryView({ entry }: { entry: Entry }): ComponentChild {
  const query = queryOf(entry);
  if (query === undefined) return el('p', { class: 'note' }, 'The request had no query.');
  return [
    h(PairsTable, { label: 'Query', pairs: formFields(query) }),
    el('h3', null, 'As sent'),
    el('p', { class: 'as-sent' }, h(LongText, { text: query })),
    h(CopyButton, { text: query, label: 'Copy query', what: 'The query' }),
  ];
}

export function queryCount(entry: Entry): number {
  return formFields(queryOf(entry) ?? '').length;
}

/** What is behind the question mark. */
function queryOf(entry: Entry): string | undefined {
  const target = targetOf(entry);
  const mark = target.indexOf('?');
  return mark === -1 ? undefined : target.slice(mark + 1);
}
