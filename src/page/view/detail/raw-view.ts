import { h, type ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import { httpMessage } from '../../content/http-message.ts';
import { el } from '../../el.ts';
import type { Entry } from '../../model/entry.ts';
import { TextView } from './body/text-view.ts';

/** The message in HTTP/1.1. */
export function RawView({ entry }: { entry: Entry }): ComponentChild {
  const { head, body } = useMemo(() => messageOf(entry), [entry]);
  return [
    h(TextView, { text: head }),
    body === undefined &&
      el('p', { class: 'note' }, 'The body is not shown here, because it is not text, or not loaded as a whole.'),
    body !== undefined && body !== '' && h(TextView, { text: body }),
  ];
}

/** Lines of the head end in CRLF in any case; those of the body as they were sent. */
function messageOf(entry: Entry): { head: string; body: string | undefined } {
  const { body_truncated: _, ...rest } = entry;
  const head = httpMessage({ ...rest, body: '', body_encoding: 'utf8' }) ?? '';
  return { head: head.replaceAll('\r\n', '\n'), body: httpMessage(entry)?.slice(head.length) };
}
