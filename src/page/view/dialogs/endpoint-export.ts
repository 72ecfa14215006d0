import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount, formatSize } from '../../content/size.ts';
import { el } from '../../el.ts';
import { END_CHARACTERS, readExportEnd, type ExportEnd, type ExportFormat } from '../../model/export-end.ts';
import { isEmpty, NO_FILTER, searchProblem, searchQuery } from '../../model/filter.ts';
import { useInspector } from '../context.ts';
import { saveFile } from '../save.ts';
import { Choice } from './choice.ts';
import { useDownload } from './download.ts';
import { ExportForm } from './export-form.ts';

const FORMATS: Record<ExportFormat, string> = {
  ndjson: 'NDJSON, for programs and backups',
  har: 'HAR, for tools that read HTTP archives',
  csv: 'CSV, for spreadsheets',
};

/** An endpoint's entries, oldest first. Only what the file's end vouches for is saved. */
export function EndpointExport({ endpointId }: { endpointId: string }): ComponentChild {
  const filter = useInspector().address.get().filter;
  const [format, setFormat] = useState<ExportFormat>('ndjson');
  const [filtered, setFiltered] = useState(!isEmpty(filter));
  const [saved, setSaved] = useState<ExportEnd & { bytes: number }>();
  const download = useDownload();
  const problem = filtered ? searchProblem(filter) : undefined;

  const start = (after: number): void => {
    const query = searchQuery(filtered ? filter : NO_FILTER);
    query.set('format', format);
    if (after > 0) query.set('after', String(after));
    setSaved(undefined);
    download.start(`/api/endpoints/${endpointId}/export?${query}`, async (file) => {
      const end = readExportEnd(format, await file.slice(-END_CHARACTERS).text());
      if (end === undefined) throw new Error('The file broke off before its end, so it is not saved: try again');
      saveFile(file, `${endpointId}${after > 0 ? `-after-${after}` : ''}.${format}`);
      setSaved({ ...end, bytes: file.size });
    });
  };

  return h(
    ExportForm<ExportFormat>,
    {
      title: 'Export',
      formats: FORMATS,
      format,
      setFormat,
      download,
      start: problem === undefined ? () => start(0) : undefined,
    },
    !isEmpty(filter) && h(Reach, { filtered, setFiltered, disabled: download.busy }),
    problem !== undefined && el('p', { class: 'warning' }, `${problem}.`),
    saved !== undefined && h(Saved, { saved, goOn: () => start(saved.next) }),
  );
}

interface ReachProps {
  filtered: boolean;
  setFiltered: (filtered: boolean) => void;
  disabled: boolean;
}

function Reach({ filtered, setFiltered, disabled }: ReachProps): ComponentChild {
  const choice = (label: string, ofFilter: boolean): ComponentChild =>
    h(Choice, { name: 'export-what', label, checked: filtered === ofFilter, choose: () => setFiltered(ofFilter) });
  return el(
    'fieldset',
    { class: 'choices', disabled },
    el('legend', null, 'Requests'),
    choice('What matches the filter, in the whole endpoint', true),
    choice('All of the endpoint', false),
  );
}

function Saved({ saved, goOn }: { saved: ExportEnd & { bytes: number }; goOn: () => void }): ComponentChild {
  const { count, bytes, more } = saved;
  const what = `${formatCount(count)} ${count === 1 ? 'request' : 'requests'}, ${formatSize(bytes)}`;
  return el(
    'div',
    { class: 'saved', role: 'status' },
    el('p', null, more ? `${what}: saved, and there are more.` : `${what}: saved, and complete.`),
    more && el('button', { type: 'button', onClick: goOn }, 'Download the next part'),
  );
}
