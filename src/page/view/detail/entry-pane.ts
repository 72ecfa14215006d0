import { h, type ComponentChild } from 'preact';
import { useInspector, useStore } from '../context.ts';
import { ComparePane } from './compare.ts';
import { DetailPane } from './detail-pane.ts';

/** The entry that is open, or what it differs in from another one. */
export function EntryPane(): ComponentChild {
  const { address } = useInspector();
  const { request, compare } = useStore(address);
  if (request === undefined) return null;
  return compare === undefined ? h(DetailPane, { id: request }) : h(ComparePane, { id: request, other: compare });
}
