import { h, type ComponentChild } from 'preact';
import { el } from '../el.ts';
import type { Inspector } from '../state/inspector.ts';
import { InspectorContext, useInspector, useStore } from './context.ts';
import { ComparePane } from './detail/compare.ts';
import { DetailPane } from './detail/detail-pane.ts';
import { Dialogs } from './dialogs/dialogs.ts';
import { useKeys } from './keys.ts';
import { ListPane } from './list/list-pane.ts';
import { Notices } from './notices.ts';
import { Header } from './start/header.ts';
import { SignIn } from './start/sign-in.ts';
import { StartPage } from './start/start-page.ts';

export function App({ inspector }: { inspector: Inspector }): ComponentChild {
  return h(InspectorContext.Provider, { value: inspector }, h(Page, null));
}

function Page(): ComponentChild {
  const { session, open, address } = useInspector();
  const signedIn = useStore(session, ({ token }) => token !== undefined);
  const opened = useStore(open);
  const request = useStore(address, (now) => now.request);
  const compare = useStore(address, (now) => now.compare);
  useKeys();
  if (!signedIn) return h(SignIn, null);
  return el(
    'div',
    { class: 'page', 'data-detail': request === undefined ? undefined : 'open' },
    h(Header, null),
    opened === undefined
      ? h(StartPage, null)
      : el(
          'main',
          { class: 'panes' },
          h(ListPane, { open: opened, key: opened.feed.endpointId }),
          request !== undefined &&
            (compare === undefined ? h(DetailPane, { id: request }) : h(ComparePane, { id: request, other: compare })),
        ),
    h(Dialogs, null),
    h(Notices, null),
  );
}
