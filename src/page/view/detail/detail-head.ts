import { h, type ComponentChild, type ComponentChildren } from 'preact';
import { exactSize, formatSize } from '../../content/size.ts';
import { formatDateTime, relativeTime } from '../../content/time.ts';
import { el } from '../../el.ts';
import { pathBehindKey, type Entry } from '../../model/entry.ts';
import { similarTo } from '../../model/similar.ts';
import { useInspector, useStore } from '../context.ts';
import { CopyButton } from '../copy.ts';
import { Visible } from '../visible.ts';
import { LongText } from './body/long-text.ts';

/** What stands above the tabs: what was sent where, when, and by whom. */
export function DetailHead({ entry, note }: { entry: Entry; note: string | undefined }): ComponentChild {
  const { go, preferences } = useInspector();
  const zone = useStore(preferences.zone);
  const { id, method, path, size, ip, content_type: type, created_at: time } = entry;
  return el(
    'header',
    { class: 'detail-head' },
    el(
      'div',
      { class: 'detail-line' },
      el('h2', { class: 'detail-title' }, h(Visible, { text: method, class: 'method' }), ' ', titleOf(path)),
      h(CopyButton, { text: path, label: 'Copy path', what: 'The path' }),
      el('button', { onClick: () => go({ filter: similarTo(entry) }) }, 'More like this'),
    ),
    el(
      'dl',
      { class: 'facts' },
      fact('Time', el('time', { dateTime: time, title: relativeTime(time, Date.now()) }, formatDateTime(time, zone))),
      fact('Size', el('span', { title: exactSize(size) }, formatSize(size))),
      ip !== '' && fact('Sender', h(Visible, { text: ip })),
      fact('Type', type === '' ? el('i', null, 'not given') : h(LongText, { text: type })),
      fact('ID', el('code', null, id), h(CopyButton, { text: id, label: 'Copy ID', what: 'The ID' })),
    ),
    note !== undefined && el('p', { class: 'note warning' }, h(Visible, { text: note })),
  );
}

/** The key of the endpoint is the same in all rows. */
function titleOf(path: string): ComponentChild {
  return el('span', { class: 'detail-path' }, h(LongText, { text: pathBehindKey(path) }));
}

function fact(name: string, ...value: ComponentChildren[]): ComponentChild {
  return el('div', { key: name }, el('dt', null, name), el('dd', null, ...value));
}
