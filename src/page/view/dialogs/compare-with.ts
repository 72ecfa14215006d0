import { h, type ComponentChild } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { formatTime } from '../../content/time.ts';
import { visibleText } from '../../content/visible.ts';
import { el } from '../../el.ts';
import { pathBehindKey, type Entry } from '../../model/entry.ts';
import { comparable, eventOf, previousLike } from '../../state/comparable.ts';
import { useInspector } from '../context.ts';
import { Visible } from '../visible.ts';
import { Modal } from './modal.ts';

const MAX_CHOICES = 100;

/** Which of the loaded entries another one is compared with; those that are like it come first. */
export function CompareWith({ id }: { id: string }): ComponentChild {
  const { open, detail } = useInspector();
  const [text, setText] = useState('');
  const book = open.get()?.feed.book;
  const opened = detail.state.get();
  const entry = book?.get(id) ?? (opened?.id === id ? opened.entry : undefined);
  const all = useMemo(() => (entry === undefined ? [] : comparable(book?.entries ?? [], entry)), []);
  const isAlone = entry !== undefined && previousLike(book?.entries ?? [], entry) === undefined;
  const wanted = text.toLowerCase();
  const found = all.filter((other) => searched(other).includes(wanted));
  return h(
    Modal,
    { title: 'Compare with' },
    isAlone && el('p', null, 'No earlier request with the same method and path is loaded: choose one.'),
    el('input', {
      type: 'search',
      class: 'compare-search',
      'aria-label': 'Find a request',
      placeholder: 'Path, event, method or id',
      autofocus: true,
      value: text,
      onInput: (event) => setText(event.currentTarget.value),
    }),
    el(
      'ul',
      { class: 'compare-choices', 'aria-label': 'Requests' },
      found.slice(0, MAX_CHOICES).map((other) => el('li', { key: other.id }, h(ChoiceButton, { other, id }))),
    ),
    el('p', { class: 'compare-note', role: 'status' }, inWords(found.length, all.length)),
  );
}

function ChoiceButton({ other, id }: { other: Entry; id: string }): ComponentChild {
  const { dialog, go, preferences } = useInspector();
  const event = eventOf(other);
  const choose = (): void => {
    dialog.set(undefined);
    go({ request: id, compare: other.id });
  };
  return el(
    'button',
    { type: 'button', class: 'compare-choice', onClick: choose },
    el('span', { class: 'method' }, h(Visible, { text: other.method })),
    el('span', { class: 'compare-path' }, h(Visible, { text: pathBehindKey(other.path) })),
    el('span', { class: 'compare-event' }, event !== undefined && h(Visible, { text: event })),
    el('time', { dateTime: other.created_at, title: other.id }, formatTime(other.created_at, preferences.zone.get())),
  );
}

function searched(other: Entry): string {
  return visibleText(`${other.method} ${pathBehindKey(other.path)} ${eventOf(other) ?? ''} ${other.id}`).toLowerCase();
}

function inWords(found: number, all: number): string {
  if (all === 0) return 'No other request is loaded.';
  if (found === 0) return 'No loaded request matches.';
  return found > MAX_CHOICES ? `The first ${MAX_CHOICES} of ${found} are shown.` : '';
}
