import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatCount, formatSize } from '../../content/size.ts';
import { el } from '../../el.ts';
import { END_CHARACTERS, readExportEnd, type ExportEnd, type ExportFormat } from '../../model/export-end.ts';
import { isEmpty, NO_FILTER, searchProblem, searchQuery } from '../../model/filter.ts';
import { useInspector } from '../context.ts';
import { Choice } from './choice.ts';
import { DownloadProgress, useDownload } from './download.ts';
import { saveFile } from '../save.ts';

const FORMATS: Record<ExportFormat, string> = {
  ndjson: 'NDJSON, for programs and backups',
  har: 'HAR, for tools that read HTTP archives',
  csv: 'CSV, for spreadsheets',
};

interface EndpointExportProps {
  endpointId: string;
  onRunning: (running: boolean) => void;
}

/** An endpoint's entries, oldest first. Only what the file's end vouches for is saved. */
export function EndpointExport({ endpointId, onRunning }: EndpointExportProps): ComponentChild {
  const filter = useInspector().address.get().filter;
  const [format, setFormat] = useState<ExportFormat>('ndjson');
  const [filtered, setFiltered] = useState(!isEmpty(filter));
  const [saved, setSaved] = useState<ExportEnd & { bytes: number }>();
  const download = useDownload();
  useEffect(() => onRunning(download.busy), [download.busy]);
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

  return [
    el(
      'fieldset',
      { class: 'choices', disabled: download.busy },
      el('legend', null, 'Format'),
      (Object.keys(FORMATS) as ExportFormat[]).map((name) =>
        h(Choice, {
          key: name,
          name: 'export-format',
          label: FORMATS[name],
          checked: name === format,
          choose: () => setFormat(name),
        }),
      ),
    ),
    !isEmpty(filter) &&
      el(
        'fieldset',
        { class: 'choices', disabled: download.busy },
        el('legend', null, 'Requests'),
        h(Choice, {
          name: 'export-what',
          label: 'What matches the filter, in the whole endpoint',
          checked: filtered,
          choose: () => setFiltered(true),
        }),
        h(Choice, {
          name: 'export-what',
          label: 'All of the endpoint',
          checked: !filtered,
          choose: () => setFiltered(false),
        }),
      ),
    problem !== undefined && el('p', { class: 'warning' }, `${problem}.`),
    download.error !== undefined && el('p', { class: 'error', role: 'alert' }, download.error),
    saved !== undefined && h(Saved, { saved, goOn: () => start(saved.next) }),
    download.busy
      ? h(DownloadProgress, { download })
      : el(
          'button',
          { type: 'button', class: 'primary', disabled: problem !== undefined, onClick: () => start(0) },
          'Download',
        ),
  ];
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
