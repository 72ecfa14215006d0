import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { formatDateTime } from '../../content/time.ts';
import { el } from '../../el.ts';
import type { Endpoint } from '../../state/endpoints.ts';
import { useInspector, useStore } from '../context.ts';
import { useNow } from './hooks.ts';
import { expiryInWords, lastInWords, matching, nameOf } from './in-words.ts';

/** With more, there is a field to find one. */
const FEW = 8;

/** The field finds the others. */
const SHOWN = 200;

export function EndpointTable({ list }: { list: readonly Endpoint[] }): ComponentChild {
  const now = useNow();
  const [text, setText] = useState('');
  const total = useStore(useInspector().endpoints.state, (state) => state.total);
  const found = matching(list, text);
  const shown = found.slice(0, SHOWN);
  const rest = Math.max(found.length - shown.length, text === '' ? total - shown.length : 0);
  return [
    list.length > FEW &&
      el('input', {
        type: 'search',
        'aria-label': 'Find an endpoint',
        placeholder: `Find one of ${formatCount(total)} endpoints`,
        value: text,
        onInput: (event) => setText(event.currentTarget.value),
      }),
    el(
      'table',
      { class: 'endpoints' },
      el(
        'thead',
        null,
        el(
          'tr',
          null,
          ['Endpoint', 'Captured', 'Last request', 'Expires'].map((name) =>
            el('th', { scope: 'col', key: name }, name),
          ),
        ),
      ),
      el(
        'tbody',
        null,
        shown.map((endpoint) => row(endpoint, now)),
      ),
    ),
    shown.length === 0 && el('p', { class: 'hint' }, 'No endpoint has this in its name'),
    rest > 0 && el('p', { class: 'hint' }, `${formatCount(rest)} more: type a part of the name`),
  ];
}

function row(endpoint: Endpoint, now: number): ComponentChild {
  const { id, alias, request_count, last_request_at, expires_at } = endpoint;
  const expiry = expiryInWords(endpoint, now);
  const title = (at: string | null): string | undefined => (at === null ? undefined : formatDateTime(at, 'local'));
  return el(
    'tr',
    { key: id },
    el(
      'th',
      { scope: 'row' },
      el('a', { href: `#/e/${id}` }, nameOf(endpoint)),
      alias !== null && el('span', { class: 'hint' }, id.slice(0, 8)),
    ),
    el('td', null, formatCount(request_count)),
    el('td', { title: title(last_request_at) }, lastInWords(endpoint, now)),
    el('td', { class: 'expiry', 'data-state': expiry.state, title: title(expires_at) }, expiry.when),
  );
}
