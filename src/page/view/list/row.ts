import { h, type ComponentChild } from 'preact';
import { eventName, recognise } from '../../content/provider.ts';
import { formatSize } from '../../content/size.ts';
import { dayKey, formatDateTime, formatTime, relativeTime, type Zone } from '../../content/time.ts';
import { el } from '../../el.ts';
import { pathBehindKey, type Entry } from '../../model/entry.ts';
import { Visible } from '../visible.ts';

interface RowProps {
  entry: Entry;
  isOpen: boolean;
  isSelected: boolean;
  /** From 1. */
  position: number;
  count: number;
  zone: Zone;
  /** The day whose entries need no date. */
  today: string;
}

/** Longer ones are cut on the screen anyway. */
const MAX_PATH = 300;

export function Row({ entry, isOpen, isSelected, position, count, zone, today }: RowProps): ComponentChild {
  const { provider, event } = summaryOf(entry);
  const day = dayKey(entry.created_at, zone);
  return el(
    'div',
    {
      class: 'row',
      role: 'option',
      id: rowId(entry.id),
      'data-open': isOpen ? 'true' : undefined,
      'aria-selected': isSelected ? 'true' : 'false',
      'aria-posinset': position,
      'aria-setsize': count,
    },
    el('span', { class: 'method', 'data-method': entry.method }, entry.method),
    el(
      'span',
      { class: 'what' },
      event !== undefined && el('span', { class: 'event' }, h(Visible, { text: event })),
      el('span', { class: 'path' }, h(Visible, { text: pathBehindKey(entry.path).slice(0, MAX_PATH) })),
    ),
    el('span', { class: 'provider' }, provider),
    el(
      'span',
      { class: 'size' },
      entry.body_truncated === true && el('span', { class: 'cut', title: 'The body is not wholly loaded' }, 'cut '),
      formatSize(entry.size),
    ),
    el(
      'span',
      // The age is told when somebody looks, because it changes.
      { class: 'time', onMouseEnter: ({ currentTarget }) => (currentTarget.title = ageOf(entry, zone)) },
      day !== today && el('span', { class: 'day' }, `${day} `),
      formatTime(entry.created_at, zone),
    ),
  );
}

export function rowId(id: string): string {
  return `row-${id}`;
}

function ageOf({ created_at }: Entry, zone: Zone): string {
  return `${formatDateTime(created_at, zone)}, ${relativeTime(created_at, Date.now())}`;
}

/** What a row says of a delivery. */
export interface Summary {
  provider: string | undefined;
  event: string | undefined;
}

const summaries = new WeakMap<Entry, Summary>();

/** Rows are drawn again and again, and entries never change. */
export function summaryOf(entry: Entry): Summary {
  const known = summaries.get(entry);
  if (known !== undefined) return known;
  const delivery = recognise(entry);
  const summary = { provider: delivery?.name, event: delivery === undefined ? eventName(entry) : delivery.event };
  summaries.set(entry, summary);
  return summary;
}
