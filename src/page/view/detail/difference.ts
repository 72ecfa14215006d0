import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LogEntry } from '../../../domain/answers.ts';
import { compareEntries, MAX_CHANGES, type Change, type Difference, type Section } from '../../content/diff.ts';
import { eventName, recognise } from '../../content/provider.ts';
import { formatDateTime, type Zone } from '../../content/time.ts';
import { el } from '../../el.ts';
import { pathBehindKey } from '../../model/entry.ts';
import { useInspector, useStore } from '../context.ts';
import { Visible } from '../visible.ts';
import { BodyDifferenceView } from './body-difference.ts';

const NAMES: Record<Section['title'], string> = {
  Request: 'method and path',
  Query: 'query',
  Headers: 'headers',
};

interface Pair {
  older: LogEntry;
  newer: LogEntry;
}

/** What differs between two entries: by sign, by colour, and in words where nothing does. */
export function DifferenceView({ older, newer }: Pair): ComponentChild {
  const zone = useStore(useInspector().preferences.zone);
  const difference = useDifference(older, newer);
  return el(
    'div',
    { class: 'difference', tabIndex: 0, role: 'group', 'aria-label': 'Differences' },
    el('dl', { class: 'compared' }, entryLine('−', 'removed', older, zone), entryLine('+', 'added', newer, zone)),
    difference === undefined ? el('p', { class: 'compare-note' }, 'Comparing …') : h(Differences, { difference }),
  );
}

function useDifference(older: LogEntry, newer: LogEntry): Difference | undefined {
  const [found, setFound] = useState<Pair & { difference: Difference }>();
  useEffect(() => {
    let isShown = true;
    void compareEntries(older, newer).then((difference) => isShown && setFound({ older, newer, difference }));
    return () => void (isShown = false);
  }, [older, newer]);
  return found?.older === older && found.newer === newer ? found.difference : undefined;
}

function Differences({ difference: { identical, sections, body } }: { difference: Difference }): ComponentChild {
  const same = [
    ...sections.filter(({ changes }) => changes.length === 0).map(({ title }) => NAMES[title]),
    ...(body.identical ? ['body'] : []),
  ];
  return [
    identical
      ? el('p', { class: 'compare-same', role: 'status' }, 'Identical: method, path, query, headers and body.')
      : same.length > 0 && el('p', { class: 'compare-same', role: 'status' }, `The same: ${same.join(', ')}.`),
    sections
      .filter(({ changes }) => changes.length > 0)
      .map((section) => h(SectionView, { section, key: section.title })),
    (!body.identical || body.note !== undefined) && h(BodyDifferenceView, { body }),
  ];
}

function entryLine(sign: string, kind: string, entry: LogEntry, zone: Zone): ComponentChild {
  const { method, path, created_at: time, id } = entry;
  const { name, event = eventName(entry), id: delivery } = recognise(entry) ?? {};
  const marked = (text: string | undefined): ComponentChild =>
    text !== undefined && [' ', h(Visible, { text, class: 'compared-event' })];
  return [
    el('dt', { class: kind }, sign),
    el(
      'dd',
      null,
      el('span', { class: 'method' }, h(Visible, { text: method })),
      ' ',
      h(Visible, { text: pathBehindKey(path) }),
      marked(name),
      marked(event),
      delivery !== undefined && [' delivery ', el('code', null, h(Visible, { text: delivery }))],
      el('time', { dateTime: time, title: id }, formatDateTime(time, zone)),
    ),
  ];
}

function SectionView({ section: { title, changes } }: { section: Section }): ComponentChild {
  return el(
    'section',
    null,
    el('h3', null, title),
    el(
      'table',
      { class: 'changes' },
      el(
        'tbody',
        null,
        changes.map((change) => changeRow(change)),
      ),
    ),
    changes.length === MAX_CHANGES && el('p', { class: 'compare-note' }, `The first ${MAX_CHANGES} are shown.`),
  );
}

function changeRow({ name, a, b }: Change): ComponentChild {
  return el(
    'tr',
    { key: name },
    el('th', { scope: 'row' }, h(Visible, { text: name })),
    el(
      'td',
      null,
      a.map((value) => valueLine('removed', value)),
      b.map((value) => valueLine('added', value)),
    ),
  );
}

function valueLine(kind: 'removed' | 'added', text: string): ComponentChild {
  return el(
    kind === 'added' ? 'ins' : 'del',
    { class: kind },
    el('span', { class: 'sign' }, kind === 'added' ? '+' : '−'),
    text === '' ? el('i', null, 'empty') : h(Visible, { text }),
  );
}
