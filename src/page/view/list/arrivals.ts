import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import type { Shown } from '../../state/shown.ts';
import { useStore } from '../context.ts';

const SAY_EVERY_MS = 5_000;

/** Tells people who hear the page how many requests arrived, not more often than they can listen. */
export function Arrivals({ shown }: { shown: Shown }): ComponentChild {
  const arrived = useStore(shown.state, (now) => now.arrived);
  const said = useRef({ arrived, at: -Infinity });
  const [text, setText] = useState('');
  useEffect(() => {
    const fresh = arrived - said.current.arrived;
    if (fresh === 0) return undefined;
    const say = (): void => {
      said.current = { arrived, at: performance.now() };
      setText(`${formatCount(fresh)} new ${fresh === 1 ? 'request' : 'requests'}`);
    };
    const timer = setTimeout(say, Math.max(0, said.current.at + SAY_EVERY_MS - performance.now()));
    return () => clearTimeout(timer);
  }, [arrived]);
  return el(
    'p',
    { class: 'off-screen', 'aria-live': 'polite', 'data-live': 'arrivals' },
    el('span', { key: said.current.at }, text),
  );
}
