import type { ComponentChild } from 'preact';
import { visibleParts } from '../content/visible.ts';
import { el } from '../el.ts';

/** Each mark is an element, and a sender may choose a text of nothing but hidden characters. */
const MAX_MARKED = 12;

/** A text that somebody sent: nothing in it is hidden, or changes the order of what is beside it. */
export function Visible({
  text,
  multiline = false,
  class: name,
}: {
  text: string;
  multiline?: boolean;
  class?: string;
}): ComponentChild {
  const parts = visibleParts(text, multiline);
  const marked = parts
    .slice(0, 2 * MAX_MARKED)
    .map((part) =>
      typeof part === 'string'
        ? part
        : el('span', { class: 'escape', title: 'A character that is not visible' }, part.escape),
    );
  const rest = parts.slice(2 * MAX_MARKED).map((part) => (typeof part === 'string' ? part : part.escape));
  return el('bdi', { class: name }, marked, rest.join(''));
}
