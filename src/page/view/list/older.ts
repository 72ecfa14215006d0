import type { ComponentChild } from 'preact';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import type { Open } from '../../state/opening.ts';
import { useStore } from '../context.ts';

/** What is below the last row. */
export function Older({ open: { feed }, filtered }: { open: Open; filtered: boolean }): ComponentChild {
  const older = useStore(feed.state, (now) => now.older);
  return el('p', { class: 'older' }, inWords());

  function inWords(): ComponentChild {
    switch (older) {
      case 'loading':
        return 'Loading older …';
      case 'none':
        return filtered ? null : 'No older requests';
      case 'full':
        return [
          `${formatCount(feed.book.entries.length)} requests are as many as the page keeps. `,
          'For older ones filter by text or time, and search all.',
        ];
      case 'more':
        return el('button', { class: 'quiet', onClick: () => void feed.loadOlder() }, 'Load older');
    }
  }
}
