import { h, type ComponentChild } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ShareCreated } from '../../../domain/answers.ts';
import { formatDateTime } from '../../content/time.ts';
import { el } from '../../el.ts';
import { CopyButton } from '../copy.ts';

/** The only time that a link is shown. */
export function ShareLink({ share, onAnother }: { share: ShareCreated; onAnother: () => void }): ComponentChild {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [share.id]);
  return el(
    'section',
    { class: 'share-link', 'aria-label': 'The new link' },
    el(
      'div',
      { class: 'copied-line' },
      el('input', { ref: field, readOnly: true, value: share.url, 'aria-label': 'Share link' }),
      h(CopyButton, { text: share.url, label: 'Copy', what: 'The link' }),
    ),
    el(
      'p',
      { class: 'warning' },
      `Copy it now: it is not shown again. Whoever has it can read until ${formatDateTime(share.expiresAt, 'local')}, ` +
        'or until you withdraw it.',
    ),
    el('button', { type: 'button', onClick: onAnother }, 'Create another'),
  );
}
