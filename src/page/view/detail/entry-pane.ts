import { h, type ComponentChild } from 'preact';
import { useInspector, useStore } from '../context.ts';
import { lazy } from '../lazy.ts';

/* The list is there before the code that shows an entry. */
const DetailPane = lazy(async () => (await import('./detail-pane.ts')).DetailPane);
const ComparePane = lazy(async () => (await import('./compare.ts')).ComparePane);

/** The entry that is open, or what it differs in from another one. */
export function EntryPane(): ComponentChild {
  const { address } = useInspector();
  const { request, compare } = useStore(address);
  if (request === undefined) return null;
  return compare === undefined ? h(DetailPane, { id: request }) : h(ComparePane, { id: request, other: compare });
}
