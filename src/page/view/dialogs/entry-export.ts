import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { el } from '../../el.ts';
import { saveFile } from '../save.ts';
import { useDownload } from './download.ts';
import { ExportForm } from './export-form.ts';

/** By the extension of the file. */
const FORMATS = {
  http: 'The HTTP message as it was sent',
  har: 'HAR, for tools that read HTTP archives',
  sh: 'A shell script with curl, which sends it again',
} as const;
type Extension = keyof typeof FORMATS;

export function EntryExport({ requestId }: { requestId: string }): ComponentChild {
  const [extension, setExtension] = useState<Extension>('http');
  const [saved, setSaved] = useState<string>();
  const download = useDownload();
  const start = (): void => {
    const name = `${requestId}.${extension}`;
    setSaved(undefined);
    download.start(`/api/requests/${requestId}/export?format=${extension === 'sh' ? 'curl' : extension}`, (file) => {
      saveFile(file, name);
      setSaved(name);
    });
  };
  return h(
    ExportForm<Extension>,
    { title: 'Export this request', formats: FORMATS, format: extension, setFormat: setExtension, download, start },
    saved !== undefined && el('p', { class: 'saved', role: 'status' }, `${saved} is saved.`),
  );
}
