import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';
import { EntryPane } from '../detail/entry-pane.ts';
import { Dialogs } from '../dialogs/dialogs.ts';
import { useKeys } from '../keys.ts';
import { ListPane } from '../list/list-pane.ts';
import { Notices } from '../notices.ts';
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
    el(
      'main',
      { class: 'panes', 'data-only-detail': scope.request_id === null ? undefined : 'true' },
      opened !== undefined && h(ListPane, { open: opened, key: opened.feed.endpointId }),
      h(EntryPane, null),
    ),
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
