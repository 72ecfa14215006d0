import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount } from '../../../content/size.ts';
import { el } from '../../../el.ts';

/** How many of something long are shown, and the button that shows more. */
export function usePages(total: number, step: number, what: string): [shown: number, more: ComponentChild] {
  const [wanted, setWanted] = useState(step);
  const shown = Math.min(wanted, total);
  const next = Math.min(step, total - shown);
  if (next <= 0) return [shown, null];
  const left = formatCount(total - shown);
  return [
    shown,
    el(
      'p',
      { class: 'more-line' },
      el('button', { onClick: () => setWanted(shown + step) }, `Show ${formatCount(next)} more`),
      ` ${left} ${what} left`,
    ),
  ];
}
