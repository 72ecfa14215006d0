import { h, type ComponentChild, type ComponentChildren } from 'preact';
import { el } from '../../el.ts';
import { Choice } from './choice.ts';
import { DownloadProgress, type Download } from './download.ts';
import { Modal } from './modal.ts';

interface ExportFormProps<F extends string> {
  title: string;
  formats: Readonly<Record<F, string>>;
  format: F;
  setFormat: (format: F) => void;
  download: Download;
  /** Undefined where the choices cannot be exported. */
  start: (() => void) | undefined;
  /** Further choices, and what was saved. */
  children?: ComponentChildren;
}

/** The dialog of both exports: a format, a download, and how far that has come. */
export function ExportForm<F extends string>(props: ExportFormProps<F>): ComponentChild {
  const { title, formats, format, setFormat, download, start, children } = props;
  const { busy, error } = download;
  return h(
    Modal,
    {
      title,
      unsaved: busy ? 'The file would not be saved.' : undefined,
      closing: 'Close',
      actions: el(
        'button',
        { type: 'button', class: 'primary', disabled: busy || start === undefined, onClick: start },
        'Download',
      ),
    },
    el(
      'fieldset',
      { class: 'choices', disabled: busy },
      el('legend', null, 'Format'),
      (Object.keys(formats) as F[]).map((name) =>
        h(Choice, {
          key: name,
          name: 'export-format',
          label: formats[name],
          checked: name === format,
          choose: () => setFormat(name),
        }),
      ),
    ),
    children,
    error !== undefined && el('p', { class: 'error', role: 'alert' }, error),
    busy && h(DownloadProgress, { download }),
    el('p', { class: 'hint' }, 'A file has all that senders sent: secrets and personal data, too.'),
  );
}
