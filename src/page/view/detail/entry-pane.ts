import { h, type ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { useInspector, useStore } from '../context.ts';
import { lazy } from '../lazy.ts';

/* The list is there before the code that shows an entry, which comes while people look at the list. */
const loadDetail = async () => (await import('./detail-pane.ts')).DetailPane;
const DetailPane = lazy(loadDetail);
const ComparePane = lazy(async () => (await import('./compare.ts')).ComparePane);

const AFTER_LIST_MS = 300;

/** The entry that is open, or what it differs in from another one. */
export function EntryPane(): ComponentChild {
  const { address } = useInspector();
  const { request, compare } = useStore(address);
  useEffect(() => {
    // A failure is told when an entry is opened.
    const timer = setTimeout(() => void loadDetail().catch(() => undefined), AFTER_LIST_MS);
    return () => clearTimeout(timer);
  }, []);
  if (request === undefined) return null;
  return compare === undefined ? h(DetailPane, { id: request }) : h(ComparePane, { id: request, other: compare });
}
