import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector } from '../context.ts';
import { CopyButton } from '../copy.ts';

/** What to do with an endpoint that has captured nothing yet. */
export function FirstVisit({ endpointId }: { endpointId: string }): ComponentChild {
  const { settings } = useInspector();
  const url = `${settings.captureBase}/h/${endpointId}`;
  const curl = `curl ${url} -H 'Content-Type: application/json' -d '{"hello":"world"}'`;
  return el(
    'section',
    { class: 'first-visit' },
    el('p', null, 'Send webhooks to'),
    el('input', { readOnly: true, value: url, 'aria-label': 'URL of this endpoint' }),
    h(CopyButton, { text: url, label: 'Copy', what: 'The URL' }),
    el('pre', null, curl),
    h(CopyButton, { text: curl, label: 'Copy', what: 'The command' }),
    el('button', { class: 'primary', onClick: () => void sendTest(endpointId) }, 'Send a test request'),
    el('p', { class: 'waiting' }, 'Waiting for the first request …'),
  );
}

/** To the page's own origin, which answers for the capture address too, unless that has a host of its own. */
async function sendTest(endpointId: string): Promise<void> {
  await fetch(`/h/${endpointId}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ hello: 'world' }),
  });
}
