import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { el } from '../el.ts';
import type { Feed } from '../state/feed.ts';
import type { Link } from '../state/link.ts';
import { useStore } from './context.ts';

/** Whether the list is complete, in words; the light beside them says it again. */
export function Status({ feed }: { feed: Feed }): ComponentChild {
  const link = useStore(feed.state, (now) => now.link);
  const seconds = useCountdown(link.state === 'reconnecting' ? link.retryAt : undefined);
  return el(
    'span',
    { class: 'status', role: 'status', 'data-state': link.state },
    el('span', { class: 'light', 'aria-hidden': 'true' }),
    el('span', { class: 'status-text' }, inWords(link, seconds)),
    link.state === 'not-live' && el('button', { class: 'quiet', onClick: () => void feed.refresh() }, 'Refresh'),
  );
}

export function inWords(link: Link, seconds: number): string {
  switch (link.state) {
    case 'connecting':
      return 'Connecting …';
    case 'live':
      return 'Live';
    case 'catching-up':
      return `Catching up: ${count(link.toGo)} to go`;
    case 'reconnecting':
      return `Reconnecting ${seconds > 0 ? `in ${seconds} s` : '…'}${link.toGo > 0 ? `: ${count(link.toGo)} behind` : ''}`;
    case 'not-live':
      return `Not live: ${link.why}`;
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

function count(n: number): string {
  return n.toLocaleString('en');
}
