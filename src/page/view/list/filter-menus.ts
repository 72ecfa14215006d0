import type { ComponentChild } from 'preact';
import { visibleText } from '../../content/visible.ts';
import { el } from '../../el.ts';
import type { Book } from '../../model/book.ts';
import type { Filter } from '../../model/filter.ts';

/* What the menus beside the filter's field show when they are opened. */

const USUAL_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** How many content types there are to choose from. */
const MAX_TYPES = 20;

export interface Choosing {
  book: Book;
  filter: Filter;
  change: (change: Partial<Filter>) => void;
}

export function MethodChoices({ book, filter: { methods }, change }: Choosing): ComponentChild {
  const choose = (method: string, on: boolean): void =>
    change({ methods: on ? [...methods, method] : methods.filter((other) => other !== method) });
  return [...new Set([...USUAL_METHODS, ...methods, ...book.entries.map(({ method }) => method)])].map((method) =>
    el(
      'label',
      { class: 'choice', key: method },
      el('input', {
        type: 'checkbox',
        checked: methods.includes(method),
        onChange: ({ currentTarget }) => choose(method, currentTarget.checked),
      }),
      el('span', { class: 'method', 'data-method': method }, method),
    ),
  );
}

export function TypeChoices({ book, filter: { type }, change }: Choosing): ComponentChild {
  return ['', ...typesOf(book, type)].map((choice) =>
    el(
      'label',
      { class: 'choice', key: choice },
      el('input', {
        type: 'radio',
        name: 'type',
        checked: choice === type,
        onChange: () => change({ type: choice }),
      }),
      choice === '' ? 'any' : visibleText(choice),
    ),
  );
}

/** What loaded entries have, without parameters. */
function typesOf({ entries }: Book, chosen: string): string[] {
  const types = new Set(chosen === '' ? [] : [chosen]);
  for (let i = entries.length - 1; i >= 0 && types.size < MAX_TYPES; i -= 1) {
    const type = entries[i]?.content_type.split(';')[0]?.trim().toLowerCase() ?? '';
    if (type !== '') types.add(type);
  }
  return [...types];
}
