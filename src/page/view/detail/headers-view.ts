import { h, type ComponentChild } from 'preact';
import { decodeText, latin1Bytes } from '../../content/bytes.ts';
import { headersOf } from '../../content/message.ts';
import { el } from '../../el.ts';
import { addHeader } from '../../model/filter.ts';
import type { Entry } from '../../model/entry.ts';
import { useInspector } from '../context.ts';
import { PairsTable } from './pairs-table.ts';

/** The headers in the order, the case and the number in which they were sent. */
export function HeadersView({ entry }: { entry: Entry }): ComponentChild {
  const { address, go } = useInspector();
  const headers = headersOf(entry).map(([name, value]) => [name, readable(value)] as const);
  const filter = (index: number): void => {
    const [name, value] = headers[index] as readonly [string, string];
    go({ filter: addHeader(address.get().filter, name, value) });
  };
  if (headers.length === 0) return el('p', { class: 'note' }, 'The request had no headers.');
  return h(PairsTable, { label: 'Headers', pairs: headers, onFilter: filter });
}

/** @param value a character for each byte */
function readable(value: string): string {
  return decodeText(latin1Bytes(value)) ?? value;
}
