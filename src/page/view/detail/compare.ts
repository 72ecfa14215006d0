import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LogEntry } from '../../../domain/answers.ts';
import { el } from '../../el.ts';
import { ApiError, messageOf } from '../../state/api.ts';
import { previousInWords, previousLike } from '../../state/comparable.ts';
import type { Feed } from '../../state/feed.ts';
import { lazy, useInspector, useStore } from '../context.ts';
import { Visible } from '../visible.ts';

const DifferenceView = lazy(async () => (await import('./difference.ts')).DifferenceView);

type Pair = { older: LogEntry; newer: LogEntry } | { error: string } | undefined;

/** Two entries of an endpoint side by side; the older one is what the newer one differs from. */
export function ComparePane({ id, other }: { id: string; other: string }): ComponentChild {
  const { detail, dialog, go, open } = useInspector();
  const feed = useStore(open)?.feed;
  const [pair, setPair] = useState<Pair>();
  useEffect(() => {
    let isShown = true;
    const show = (read: Pair): void => {
      if (isShown) setPair(read);
    };
    setPair(undefined);
    Promise.all([detail.read(id), detail.read(other)]).then(
      ([a, b]) => show(a.seq < b.seq ? { older: a, newer: b } : { older: b, newer: a }),
      (error: unknown) => show({ error: problemOf(error) }),
    );
    return () => void (isShown = false);
  }, [id, other]);
  return el(
    'section',
    { class: 'detail-pane compare', 'aria-label': 'Comparison' },
    el(
      'div',
      { class: 'compare-head' },
      el(
        'button',
        { type: 'button', class: 'quiet', onClick: () => go({ compare: undefined }) },
        '← Back to the request',
      ),
      el('h2', null, 'Comparison'),
      el('button', { type: 'button', onClick: () => dialog.set({ name: 'compare-with', id }) }, 'Choose another …'),
    ),
    pair === undefined && el('p', { class: 'compare-note' }, 'Loading …'),
    pair !== undefined && 'error' in pair && el('p', { class: 'error', role: 'alert' }, pair.error),
    pair !== undefined &&
      'older' in pair && [feed !== undefined && h(Reason, { feed, ...pair }), h(DifferenceView, pair)],
  );
}

/** Why the older one is compared, where that is what the page chooses. */
function Reason({ feed, older, newer }: { feed: Feed; older: LogEntry; newer: LogEntry }): ComponentChild {
  useStore(feed.state, ({ version }) => version);
  if (previousLike(feed.book.entries, newer)?.id !== older.id) return null;
  return el('p', { class: 'compare-note' }, 'Compared with ', h(Visible, { text: previousInWords(newer, older) }), '.');
}

function problemOf(error: unknown): string {
  return error instanceof ApiError && error.status === 404
    ? 'One of the two was deleted, or is past its retention.'
    : messageOf(error);
}
