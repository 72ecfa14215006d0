import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount } from '../../../content/size.ts';
import { el } from '../../../el.ts';
import { Visible } from '../../visible.ts';

const SHOWN_CHARACTERS = 2_000;

/** A captured text of any length: what is long is cut, and shown on demand. */
export function LongText({
  text,
  class: name = '',
  multiline = false,
}: {
  text: string;
  class?: string;
  multiline?: boolean;
}): ComponentChild {
  const [whole, setWhole] = useState(false);
  if (whole || text.length <= SHOWN_CHARACTERS) return h(Visible, { text, multiline, class: name });
  const shown = beginningOf(text, SHOWN_CHARACTERS);
  return [
    h(Visible, { text: shown, multiline, class: name }),
    el(
      'button',
      { class: 'quiet more', onClick: () => setWhole(true) },
      `… show the rest (${formatCount(text.length - shown.length)} characters)`,
    ),
  ];
}

/** At most so many characters, without half of a pair. */
function beginningOf(text: string, length: number): string {
  return text.slice(0, /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length);
}
