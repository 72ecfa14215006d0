import { h, type ComponentChild } from 'preact';
import { formatDateTime } from '../../content/time.ts';
import { el } from '../../el.ts';
import type { Filter } from '../../model/filter.ts';
import { useInspector, useStore } from '../context.ts';
import { Visible } from '../visible.ts';

interface Chip {
  text: string;
  without: Partial<Filter>;
}

/** The parts of the filter that have no field, and a way to remove each. */
export function Chips({ filter, change }: { filter: Filter; change: (part: Partial<Filter>) => void }): ComponentChild {
  const zone = useStore(useInspector().preferences.zone);
  const { headers, path, since, until } = filter;
  const chips: Chip[] = [
    ...headers.map((header) => ({
      text: header[1] === '' ? header[0] : `${header[0]}: ${header[1]}`,
      without: { headers: headers.filter((other) => other !== header) },
    })),
    ...(path === '' ? [] : [{ text: `path ${path}…`, without: { path: '' } }]),
    ...(since === '' ? [] : [{ text: `from ${formatDateTime(since, zone)}`, without: { since: '' } }]),
    ...(until === '' ? [] : [{ text: `before ${formatDateTime(until, zone)}`, without: { until: '' } }]),
  ];
  return el(
    'ul',
    { class: 'chips', 'aria-label': 'Filters' },
    chips.map(({ text, without }) =>
      el(
        'li',
        { class: 'chip', key: text },
        h(Visible, { text }),
        el('button', { class: 'quiet', 'aria-label': `Remove ${text}`, onClick: () => change(without) }, '×'),
      ),
    ),
  );
}
