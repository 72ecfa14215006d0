import { h, type ComponentChild } from 'preact';
import type { ShareScopeRecord } from '../../../domain/answers.ts';
import { formatMinute, relativeTime } from '../../content/time.ts';
import { el } from '../../el.ts';
import type { Feed } from '../../state/feed.ts';
import { useInspector } from '../context.ts';
import { Status } from '../status.ts';

interface SharedHeaderProps {
  scope: ShareScopeRecord;
  /** A link to one entry has none. */
  feed: Feed | undefined;
}

/** What the link opens, until when, and what is hidden. */
export function SharedHeader({ scope, feed }: SharedHeaderProps): ComponentChild {
  const { dialog } = useInspector();
  const { endpoint_id: endpointId, request_id: requestId } = scope;
  return [
    el(
      'header',
      { class: 'header' },
      el('h1', { class: 'brand' }, 'Hookbay'),
      feed !== undefined && h(Status, { feed }),
      el(
        'button',
        {
          type: 'button',
          onClick: () => dialog.set({ name: 'export', endpointId, ...(requestId !== null && { requestId }) }),
        },
        'Export',
      ),
      el(
        'button',
        { type: 'button', class: 'quiet', 'aria-label': 'Keyboard help', onClick: () => dialog.set({ name: 'help' }) },
        '?',
      ),
    ),
    el('aside', { class: 'shared-banner', 'aria-label': 'About this link' }, h(About, { scope })),
  ];
}

function About({ scope }: { scope: ShareScopeRecord }): ComponentChild {
  const { request_id: requestId, endpoint_id: endpointId, until, expires_at: expiresAt, redact } = scope;
  return el(
    'p',
    null,
    requestId === null
      ? el(
          'strong',
          null,
          'A shared endpoint ',
          el('code', { title: endpointId }, endpointId.slice(0, 8)),
          ', to read. ',
        )
      : el('strong', null, 'One shared request, to read. '),
    until !== null && `It shows what came until ${formatMinute(until, 'local')}. `,
    `The link ends ${relativeTime(expiresAt, Date.now())}, on ${formatMinute(expiresAt, 'local')}. `,
    redact
      ? 'Secrets in headers and query (***) and senders’ addresses are hidden; bodies are as sent.'
      : 'Nothing is hidden: it has what senders sent, secrets too.',
  );
}
