import { eventName, recognise } from '../../content/provider.ts';
import type { Entry } from '../../model/entry.ts';

/** What a row says of a delivery. */
export interface Summary {
  provider: string | undefined;
  event: string | undefined;
}

const summaries = new WeakMap<Entry, Summary>();

/** Rows are drawn again and again, and entries never change. */
export function summaryOf(entry: Entry): Summary {
  const known = summaries.get(entry);
  if (known !== undefined) return known;
  const delivery = recognise(entry);
  const summary = { provider: delivery?.name, event: delivery === undefined ? eventName(entry) : delivery.event };
  summaries.set(entry, summary);
  return summary;
}
