import type { ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';

/** What a link without a token, or one that has ended, shows. */
export function SharedEnd(): ComponentChild {
  const reason = useStore(useInspector().session, (now) => now.reason);
  return el(
    'main',
    { class: 'shared-end' },
    el('h1', null, 'Hookbay'),
    reason === undefined
      ? el('p', null, 'This is the address of share links. The part behind # is missing here: open the whole link.')
      : [
          el('p', { class: 'error', role: 'alert' }, `This share link does not open anything: ${lowerFirst(reason)}.`),
          el('p', null, 'A link ends at its time, when it is withdrawn, and with what it opened.'),
        ],
    el('p', { class: 'hint' }, 'Ask whoever gave it to you for a new one.'),
  );
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
