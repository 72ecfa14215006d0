import { h, type ComponentChild } from 'preact';
import type { LogEntry } from '../../../domain/answers.ts';
import { recognise } from '../../content/provider.ts';
import { el } from '../../el.ts';
import { CopyButton } from '../copy.ts';
import { Visible } from '../visible.ts';

/** Who sent an entry and what it is about; the delivery id is what to quote to the sender. */
export function ProviderLine({ entry }: { entry: LogEntry }): ComponentChild {
  const delivery = recognise(entry);
  if (delivery === undefined) return null;
  const { name, event, id, about, signed } = delivery;
  return el(
    'p',
    { class: 'provider-line' },
    el('strong', null, name),
    event !== undefined && el('span', { class: 'provider-event' }, h(Visible, { text: event })),
    about !== undefined && el('span', null, h(Visible, { text: about })),
    el(
      'span',
      { title: signed ? 'It has a signature header: Verify checks it' : undefined },
      signed ? 'signed' : 'not signed',
    ),
    id !== undefined &&
      el(
        'span',
        { class: 'provider-delivery' },
        'delivery',
        el('code', null, h(Visible, { text: id })),
        h(CopyButton, { text: id, label: 'Copy ID', what: 'The delivery ID' }),
      ),
  );
}
