import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { el } from '../../el.ts';
import { Choice } from './choice.ts';
import { DownloadProgress, useDownload } from './download.ts';
import { saveFile } from '../save.ts';

/** By the extension of the file. */
const FORMATS = {
  http: { query: 'http', label: 'The HTTP message as it was sent' },
  har: { query: 'har', label: 'HAR, for tools that read HTTP archives' },
  sh: { query: 'curl', label: 'A shell script with curl, which sends it again' },
} as const;
type Extension = keyof typeof FORMATS;

interface EntryExportProps {
  requestId: string;
  onRunning: (running: boolean) => void;
}

export function EntryExport({ requestId, onRunning }: EntryExportProps): ComponentChild {
  const [extension, setExtension] = useState<Extension>('http');
  const [saved, setSaved] = useState<string>();
  const download = useDownload();
  useEffect(() => onRunning(download.busy), [download.busy]);
  const start = (): void => {
    const name = `${requestId}.${extension}`;
    setSaved(undefined);
    download.start(`/api/requests/${requestId}/export?format=${FORMATS[extension].query}`, (file) => {
      saveFile(file, name);
      setSaved(name);
    });
  };
  return [
    el(
      'fieldset',
      { class: 'choices', disabled: download.busy },
      el('legend', null, 'Format'),
      (Object.keys(FORMATS) as Extension[]).map((name) =>
        h(Choice, {
          key: name,
          name: 'export-format',
          label: FORMATS[name].label,
          checked: name === extension,
          choose: () => setExtension(name),
        }),
      ),
    ),
    download.error !== undefined && el('p', { class: 'error', role: 'alert' }, download.error),
    saved !== undefined && el('p', { class: 'saved', role: 'status' }, `${saved} is saved.`),
    download.busy
      ? h(DownloadProgress, { download })
      : el('button', { type: 'button', class: 'primary', onClick: start }, 'Download'),
  ];
}
