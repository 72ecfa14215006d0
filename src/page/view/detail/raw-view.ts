import { h, type ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import { httpMessage } from '../../content/http-message.ts';
import { el } from '../../el.ts';
import type { Entry } from '../../model/entry.ts';
import { TextView } from './body/text-view.ts';

/** The message in HTTP/1.1. A body that is cut, or no text, is in the other tab. */
export function RawView({ entry }: { entry: Entry }): ComponentChild {
  const { message, isWhole } = useMemo(() => {
    const whole = httpMessage(entry);
    const { body_truncated: _, ...rest } = entry;
    return {
      message: whole ?? httpMessage({ ...rest, body: '', body_encoding: 'utf8' }) ?? '',
      isWhole: whole !== undefined,
    };
  }, [entry]);
  return [
    h(TextView, { text: message }),
    !isWhole &&
      el('p', { class: 'note' }, 'The body is not shown here, because it is not text, or not loaded as a whole.'),
  ];
}
