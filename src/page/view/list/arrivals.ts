import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import type { Shown } from '../../state/shown.ts';
import { useStore } from '../context.ts';

const SAY_EVERY_MS = 5_000;

/** Tells people who hear the page how many requests arrived, not more often than they can listen. */
export function Arrivals({ shown }: { shown: Shown }): ComponentChild {
  const arrived = useStore(shown.state, (now) => now.arrived);
  const [said, setSaid] = useState({ text: '', arrived, at: -Infinity });
  useEffect(() => {
    const fresh = arrived - said.arrived;
    if (fresh === 0) return undefined;
    const say = (): void => {
      const text = `${formatCount(fresh)} new ${fresh === 1 ? 'request' : 'requests'}`;
      setSaid({ text, arrived, at: performance.now() });
    };
    const timer = setTimeout(say, Math.max(0, said.at + SAY_EVERY_MS - performance.now()));
    return () => clearTimeout(timer);
  }, [arrived, said]);
  const { text, at } = said;
  // Another element, so that a text is read out again when it is the same.
  return el(
    'p',
    { class: 'off-screen', 'aria-live': 'polite', 'data-live': 'arrivals' },
    el('span', { key: at }, text),
  );
}
