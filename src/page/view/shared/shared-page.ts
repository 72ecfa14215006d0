import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';
import { Dialogs, Notices } from '../dialogs/dialogs.ts';
import { useKeys } from '../keys.ts';
import { Panes } from '../panes.ts';
import { SharedEnd } from './shared-end.ts';
import { SharedHeader } from './shared-header.ts';

/** The page for the holder of a share link. */
export function SharedPage(): ComponentChild {
  const { session, shared, open, address } = useInspector();
  const signedIn = useStore(session, ({ token }) => token !== undefined);
  const { scope, error } = useStore(shared.state);
  const opened = useStore(open);
  const request = useStore(address, (now) => now.request);
  useKeys();
  if (!signedIn) return h(SharedEnd, null);
  if (scope === undefined) return h(Opening, { error });
  return el(
    'div',
    { class: 'page', 'data-detail': request === undefined ? undefined : 'open' },
    h(SharedHeader, { scope, feed: opened?.feed }),
    h(Panes, { open: opened }),
    h(Dialogs, null),
    h(Notices, null),
  );
}

function Opening({ error }: { error: string | undefined }): ComponentChild {
  return el(
    'main',
    { class: 'shared-end' },
    el('h1', null, 'Hookbay'),
    error === undefined
      ? el('p', { role: 'status' }, 'Opening the share link …')
      : [
          el('p', { class: 'error', role: 'alert' }, error),
          el('button', { onClick: () => location.reload() }, 'Try again'),
        ],
  );
}
