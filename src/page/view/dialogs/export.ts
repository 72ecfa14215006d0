import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { el } from '../../el.ts';
import { Modal } from './modal.ts';
import { EndpointExport } from './endpoint-export.ts';
import { EntryExport } from './entry-export.ts';

interface ExportProps {
  endpointId: string;
  requestId?: string;
}

/** Takes entries away as a file. */
export function Export({ endpointId, requestId }: ExportProps): ComponentChild {
  const [running, setRunning] = useState(false);
  return h(
    Modal,
    {
      title: requestId === undefined ? 'Export' : 'Export this request',
      unsaved: running ? 'The file would not be saved.' : undefined,
    },
    requestId === undefined
      ? h(EndpointExport, { endpointId, onRunning: setRunning })
      : h(EntryExport, { requestId, onRunning: setRunning }),
    el('p', { class: 'hint' }, 'A file has all that senders sent: secrets and personal data, too.'),
  );
}
