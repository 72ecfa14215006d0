import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { el } from '../el.ts';
import { useInspector, useStore } from './context.ts';

const SHOWN_MS = 4_000;

/** What was just done; screen readers read it out. */
export function Notices(): ComponentChild {
  const notice = useStore(useInspector().notice);
  const [over, setOver] = useState(0);
  useEffect(() => {
    if (notice === undefined) return undefined;
    const timer = setTimeout(() => setOver(notice.number), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  const text = notice === undefined || notice.number === over ? '' : notice.text;
  return el('div', { class: 'notice', role: 'status', 'data-empty': text === '' ? 'true' : undefined }, text);
}
