import type { ComponentChild } from 'preact';
import { visibleParts } from '../content/visible.ts';
import { el } from '../el.ts';

/** A text that somebody sent: nothing in it is hidden, or changes the order of what is beside it. */
export function Visible({ text, multiline = false }: { text: string; multiline?: boolean }): ComponentChild {
  const parts = visibleParts(text, multiline).map((part) =>
    typeof part === 'string'
      ? part
      : el('span', { class: 'escape', title: 'A character that is not visible' }, part.escape),
  );
  return el('bdi', null, parts);
}
