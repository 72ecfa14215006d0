import { h, type ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import { httpMessage } from '../../content/http-message.ts';
import { el } from '../../el.ts';
import type { Entry } from '../../model/entry.ts';
import { useInspector } from '../context.ts';
import { CopyButton } from '../copy.ts';
import { TextView } from './body/text-view.ts';
import { copyableMessage } from './copies.ts';

/** The message in HTTP/1.1. */
export function RawView({ entry }: { entry: Entry }): ComponentChild {
  const inspector = useInspector();
  const { head, body } = useMemo(() => messageOf(entry), [entry]);
  return [
    // A body that is no text is no part of a text: then it is the head.
    h(CopyButton, {
      text: () => (entry.body_encoding === 'utf8' ? copyableMessage(inspector, entry) : head),
      label: entry.body_encoding === 'utf8' ? 'Copy message' : 'Copy head',
      what: entry.body_encoding === 'utf8' ? 'The message' : 'The head',
    }),
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
