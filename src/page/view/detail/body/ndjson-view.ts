import { h, type ComponentChild } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { ndjsonRecords, type NdjsonRecord } from '../../../content/ndjson.ts';
import { formatCount } from '../../../content/size.ts';
import { el } from '../../../el.ts';
import { moveInFolds } from './folds.ts';
import { JsonView } from './json-view.ts';
import { line, lines } from './lines.ts';
import { LongText } from './long-text.ts';
import { usePages } from './pages.ts';

const RECORDS_AT_FIRST = 200;

/** One JSON text a line, each as it was sent; a record unfolds into lines of its own. */
export function NdjsonView({ text }: { text: string }): ComponentChild {
  // The text is bounded, so its records are.
  const records = useMemo(() => ndjsonRecords(text, Infinity), [text]);
  const [shown, more] = usePages(records.length, RECORDS_AT_FIRST, 'records');
  return el(
    'div',
    { onKeyDown: moveInFolds },
    el('p', { class: 'note' }, `${formatCount(records.length)} ${records.length === 1 ? 'record' : 'records'}`),
    lines(
      'Records',
      records.at(-1)?.line ?? 0,
      records.slice(0, shown).map((record) => h(Record, { record, first: records[0]?.line, key: record.line })),
      more,
    ),
  );
}

function Record({ record, first }: { record: NdjsonRecord; first: number | undefined }): ComponentChild {
  const [open, setOpen] = useState(false);
  const mark = el('button', {
    class: 'fold',
    'aria-expanded': open ? 'true' : 'false',
    tabIndex: record.line === first ? 0 : -1,
    'aria-label': `Record on line ${record.line}`,
    onClick: () => setOpen(!open),
  });
  const inOne = (): ComponentChild => h(LongText, { text: record.text });
  return line({ number: record.line - 1, mark }, open ? h(JsonView, { text: record.text, limit: 100 }) : inOne());
}
