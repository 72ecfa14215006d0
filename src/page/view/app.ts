import { h, render, type ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { el } from '../el.ts';
import type { Inspector } from '../state/inspector.ts';
import type { Open } from '../state/opening.ts';
import { InspectorContext, lazy, useInspector, useStore } from './context.ts';
import { Dialogs, Notices } from './dialogs/dialogs.ts';
import { useKeys } from './keys.ts';
import { Panes } from './panes.ts';
import { Header } from './start/header.ts';

/* Most visits show an endpoint's captures: what is in their place comes when it is needed. */
const SharedPage = lazy(async () => (await import('./shared/shared-page.ts')).SharedPage);
const SignIn = lazy(async () => (await import('./start/sign-in.ts')).SignIn);
const StartPage = lazy(async () => (await import('./start/start-page.ts')).StartPage);
const Gone = lazy(async () => (await import('./start/gone.ts')).Gone);

export function draw(inspector: Inspector): void {
  render(h(App, { inspector }), document.body);
}

function App({ inspector }: { inspector: Inspector }): ComponentChild {
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
    opened === undefined ? h(StartPage, null) : h(Endpoint, { open: opened, key: opened.feed.endpointId }),
    h(Dialogs, null),
    h(Notices, null),
  );
}

function Endpoint({ open }: { open: Open }): ComponentChild {
  const isGone = useStore(open.feed.state, ({ list }) => list === 'gone');
  return isGone ? h(Gone, { endpointId: open.feed.endpointId }) : h(Panes, { open });
}

/** The tab's title: what is open, and how much arrived unseen. */
function useTitle(): void {
  const { address, endpoints, unread } = useInspector();
  const count = useStore(unread.count);
  const id = useStore(address, ({ endpoint }) => endpoint);
  const alias = useStore(endpoints.state, ({ list }) => list.find((endpoint) => endpoint.id === id)?.alias);
  useEffect(() => {
    const name = id === undefined ? 'Hookbay' : `${alias ?? id.slice(0, 8)} · Hookbay`;
    document.title = count === 0 ? name : `(${count}) ${name}`;
  }, [count, id, alias]);
}
