import { h, type ComponentChild } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { headersOf } from '../../content/message.ts';
import { el } from '../../el.ts';
import type { Entry } from '../../model/entry.ts';
import { useInspector, useStore } from '../context.ts';
import { Actions } from './actions.ts';
import { BodyView } from './body-view.ts';
import { useContent } from './content.ts';
import { DetailHead } from './detail-head.ts';
import { HeadersView } from './headers-view.ts';
import { queryCount, QueryView } from './query-view.ts';
import { RawView } from './raw-view.ts';
import { Tabs } from './tabs.ts';
import { useWholeBody } from './whole-body.ts';

const PANEL = 'detail-panel';

/** What stays when another entry is opened. */
interface Choices {
  tab: string;
  wrap: boolean;
}

/** One entry. What the list has of it is shown until it has been read as a whole. */
export function DetailPane({ id }: { id: string }): ComponentChild {
  const { detail, go, open } = useInspector();
  const state = useStore(detail.state);
  const [choices, setChoices] = useState<Choices>({ tab: 'body', wrap: true });
  const opened = state?.id === id ? state : undefined;
  const isGone = opened?.state === 'gone';
  useEffect(() => {
    const feed = open.get()?.feed;
    if (isGone && feed?.book.get(id) !== undefined) feed.forget(new Set([id]));
  }, [isGone, id]);
  const entry = opened?.entry ?? open.get()?.feed.book.get(id);
  const isLoading = opened === undefined || opened.state === 'loading';
  return el(
    'section',
    { class: 'detail-pane', 'aria-label': 'Request' },
    el(
      'button',
      { type: 'button', class: 'quiet leave', onClick: () => go({ request: undefined }) },
      // A phone shows either the list or this.
      el('span', { class: 'on-phone' }, 'Back'),
      el('span', { class: 'on-wide' }, 'Close'),
    ),
    isGone && el('p', { class: 'gone', role: 'status' }, 'This request was deleted, or is past its retention.'),
    opened?.state === 'failed' &&
      el(
        'p',
        { class: 'error', role: 'alert' },
        opened.error,
        ' ',
        el('button', { onClick: () => detail.again() }, 'Try again'),
      ),
    !isGone && entry === undefined && isLoading && el('p', { class: 'note loading' }, 'Loading …'),
    !isGone && entry !== undefined && h(EntryView, { entry, isLoading, choices, setChoices }),
  );
}

interface EntryProps {
  entry: Entry;
  isLoading: boolean;
  choices: Choices;
  setChoices: (choices: Choices) => void;
}

function EntryView({ entry, isLoading, choices, setChoices }: EntryProps): ComponentChild {
  const { tab, wrap } = choices;
  const whole = useWholeBody(entry, !isLoading);
  const content = useContent(entry, whole.bytes);
  const panel = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (panel.current !== null) panel.current.scrollTop = 0;
  }, [entry.id, tab]);
  const queries = queryCount(entry);
  const tabs = [
    ['body', 'Body'],
    ['headers', `Headers (${headersOf(entry).length})`],
    ['query', queries === 0 ? 'Query' : `Query (${queries})`],
    ['raw', 'Raw'],
  ] as const;
  const view = {
    body: () =>
      h(BodyView, {
        entry,
        content,
        isLoading,
        whole,
        wrap,
        setWrap: (next) => setChoices({ ...choices, wrap: next }),
      }),
    headers: () => h(HeadersView, { entry }),
    query: () => h(QueryView, { entry }),
    raw: () => h(RawView, { entry }),
  }[tab as 'body' | 'headers' | 'query' | 'raw'];
  return [
    h(DetailHead, { entry, note: content.kind.note }),
    el('div', { class: 'detail-actions' }, h(Actions, { entry })),
    h(Tabs, {
      label: 'Parts of the request',
      tabs,
      selected: tab,
      onSelect: (next) => setChoices({ ...choices, tab: next }),
      panel: PANEL,
    }),
    el(
      'div',
      { class: 'tab-panel', id: PANEL, ref: panel, role: 'tabpanel', 'aria-labelledby': `tab-${tab}`, tabIndex: 0 },
      el('div', { key: `${entry.id} ${tab}` }, view()),
    ),
  ];
}
