import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { LogEntry } from '../../../domain/answers.ts';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';
import { Actions } from './actions.ts';
import { BodyView } from './body-view.ts';
import { HeadersView } from './headers-view.ts';
import { QueryView } from './query-view.ts';
import { RawView } from './raw-view.ts';

const TABS = { body: BodyView, headers: HeadersView, query: QueryView, raw: RawView } as const;
type Tab = keyof typeof TABS;
const NAMES: Record<Tab, string> = { body: 'Body', headers: 'Headers', query: 'Query', raw: 'Raw' };

/** One entry. The chosen tab stays when another entry is opened. */
export function DetailPane({ id }: { id: string }): ComponentChild {
  const { detail, go, open } = useInspector();
  const opened = useStore(detail.state);
  const [tab, setTab] = useState<Tab>('body');
  // What the list has of it, until it has been read as a whole.
  const entry = opened?.entry ?? open.get()?.feed.book.get(id);
  return el(
    'section',
    { class: 'detail-pane', 'aria-label': 'Request' },
    el('button', { class: 'quiet back', onClick: () => go({ request: undefined }) }, 'Back'),
    opened?.state === 'gone' &&
      el('p', { class: 'gone', role: 'alert' }, 'This request was deleted, or is past its retention.'),
    opened?.state === 'failed' && el('p', { class: 'error', role: 'alert' }, opened.error),
    entry !== undefined && opened?.state !== 'gone' && h(EntryView, { entry, tab, setTab }),
  );
}

function EntryView({ entry, tab, setTab }: { entry: LogEntry; tab: Tab; setTab: (tab: Tab) => void }): ComponentChild {
  return [
    el(
      'h2',
      { class: 'detail-title' },
      el('span', { class: 'method' }, entry.method),
      ' ',
      el('bdi', null, entry.path),
    ),
    h(Actions, { entry }),
    el(
      'div',
      { class: 'tabs', role: 'tablist' },
      (Object.keys(TABS) as Tab[]).map((name) =>
        el(
          'button',
          {
            key: name,
            role: 'tab',
            id: `tab-${name}`,
            'aria-selected': name === tab ? 'true' : 'false',
            onClick: () => setTab(name),
          },
          NAMES[name],
        ),
      ),
    ),
    el(
      'div',
      { class: 'tab-panel', role: 'tabpanel', 'aria-labelledby': `tab-${tab}`, tabIndex: 0 },
      h(TABS[tab], { entry }),
    ),
  ];
}
