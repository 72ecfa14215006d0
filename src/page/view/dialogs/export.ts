import { h, type ComponentChild } from 'preact';
import { EndpointExport } from './endpoint-export.ts';
import { EntryExport } from './entry-export.ts';

interface ExportProps {
  endpointId: string;
  requestId?: string;
}

/** Takes entries away as a file. */
export function Export({ endpointId, requestId }: ExportProps): ComponentChild {
  return requestId === undefined ? h(EndpointExport, { endpointId }) : h(EntryExport, { requestId });
}
