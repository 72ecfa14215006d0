import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../content/size.ts';
import { el } from '../el.ts';
import type { Feed } from '../state/feed.ts';
import type { Link } from '../state/link.ts';
import { useStore } from './context.ts';

/** Whether the list is complete, in words; the light beside them says it again. */
export function Status({ feed }: { feed: Feed }): ComponentChild {
  const link = useStore(feed.state, (now) => now.link);
  const pending = useStore(feed.state, (now) => now.pending !== undefined);
  const seconds = useCountdown(link.state === 'reconnecting' ? link.retryAt : undefined);
  const state = link.state === 'live' && pending ? 'behind' : link.state;
  return el(
    'span',
    { class: 'status', 'data-state': state },
    el('span', { class: 'light', 'aria-hidden': 'true' }),
    el('span', { class: 'status-text' }, state === 'behind' ? BEHIND : inWords(link, seconds)),
    // Numbers change with each frame: only a new state is read out.
    el('span', { class: 'off-screen', role: 'status' }, NAMES[state]),
    state === 'not-live' && el('button', { class: 'quiet', onClick: () => void feed.refresh() }, 'Refresh'),
    state === 'reconnecting' && el('button', { class: 'quiet', onClick: () => feed.retry() }, 'Try now'),
  );
}

const BEHIND = 'Behind: captures wait to be stored';

const NAMES: Record<Link['state'] | 'behind', string> = {
  connecting: 'Connecting',
  live: 'Live',
  behind: BEHIND,
  'catching-up': 'Catching up',
  reconnecting: 'Reconnecting',
  'not-live': 'Not live',
};

export function inWords(link: Link, seconds: number): string {
  switch (link.state) {
    case 'catching-up':
      return `Catching up: ${formatCount(link.toGo)} to go`;
    case 'reconnecting': {
      const when = seconds > 0 ? ` in ${seconds} s` : ' …';
      return `Reconnecting${when}${link.toGo > 0 ? `: ${formatCount(link.toGo)} behind` : ''}`;
    }
    case 'not-live':
      return `Not live: ${link.why}`;
    default:
      return NAMES[link.state];
  }
}

function useCountdown(until: number | undefined): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (until === undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [until]);
  return until === undefined ? 0 : Math.max(0, Math.ceil((until - now) / 1_000));
}
