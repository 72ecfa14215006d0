import { h, type ComponentChild } from 'preact';
import { el } from '../el.ts';
import type { Inspector } from '../state/inspector.ts';
import type { Open } from '../state/opening.ts';
import { InspectorContext, useInspector, useStore } from './context.ts';
import { EntryPane } from './detail/entry-pane.ts';
import { Dialogs } from './dialogs/dialogs.ts';
import { useKeys } from './keys.ts';
import { lazy } from './lazy.ts';
import { ListPane } from './list/list-pane.ts';
import { Notices } from './notices.ts';
import { Header } from './start/header.ts';
import { useTitle } from './title.ts';

/* Most visits show an endpoint's captures: what is in their place comes when it is needed. */
const SharedPage = lazy(async () => (await import('./shared/shared-page.ts')).SharedPage);
const SignIn = lazy(async () => (await import('./start/sign-in.ts')).SignIn);
const StartPage = lazy(async () => (await import('./start/start-page.ts')).StartPage);
const Gone = lazy(async () => (await import('./start/gone.ts')).Gone);

export function App({ inspector }: { inspector: Inspector }): ComponentChild {
  const page = inspector.access === 'reader' ? h(SharedPage, null) : h(Page, null);
  return h(InspectorContext.Provider, { value: inspector }, page);
}

function Page(): ComponentChild {
  const { session, open, address } = useInspector();
  const signedIn = useStore(session, ({ token }) => token !== undefined);
  const opened = useStore(open);
  const request = useStore(address, (now) => now.request);
  useTitle();
  useKeys();
  if (!signedIn) return h(SignIn, null);
  return el(
    'div',
    { class: 'page', 'data-detail': request === undefined ? undefined : 'open' },
    h(Header, null),
    opened === undefined ? h(StartPage, null) : h(Panes, { open: opened, key: opened.feed.endpointId }),
    h(Dialogs, null),
    h(Notices, null),
  );
}

function Panes({ open }: { open: Open }): ComponentChild {
  const isGone = useStore(open.feed.state, ({ list }) => list === 'gone');
  if (isGone) return h(Gone, { endpointId: open.feed.endpointId });
  return el('main', { class: 'panes' }, h(ListPane, { open }), h(EntryPane, null));
}
