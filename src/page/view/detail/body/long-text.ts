import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount } from '../../../content/size.ts';
import { el } from '../../../el.ts';
import { Visible } from '../../visible.ts';

const SHOWN_CHARACTERS = 2_000;
/** What a click adds: as much as is laid out in a moment. */
const MORE_CHARACTERS = 200_000;

interface LongTextProps {
  text: string;
  class?: string;
  multiline?: boolean;
}

/** A captured text of any length: what is long is cut, and shown on demand. */
export function LongText({ text, class: name = '', multiline = false }: LongTextProps): ComponentChild {
  const [wanted, setWanted] = useState(SHOWN_CHARACTERS);
  const shown = beginningOf(text, wanted);
  const left = text.length - shown.length;
  if (left === 0) return h(Visible, { text, multiline, class: name });
  const next = Math.min(left, MORE_CHARACTERS);
  return [
    h(Visible, { text: shown, multiline, class: name }),
    el(
      'button',
      { class: 'quiet more', onClick: () => setWanted(shown.length + MORE_CHARACTERS) },
      next === left
        ? `… show the rest (${formatCount(left)} characters)`
        : `… show ${formatCount(next)} of ${formatCount(left)} more characters`,
    ),
  ];
}

/** At most so many characters, without half of a pair. */
function beginningOf(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length);
}
