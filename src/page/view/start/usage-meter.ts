import type { ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';

/** Captures of today against the cap of the plan. */
export function UsageMeter(): ComponentChild {
  const usage = useStore(useInspector().endpoints.state, (now) => now.usage);
  if (usage === undefined) return null;
  return el('span', { class: 'usage' }, `${usage.dailyRequests} / ${usage.dailyRequestsMax ?? '∞'} today`);
}
