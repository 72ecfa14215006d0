import { h, type ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import type { Endpoints } from '../../state/endpoints.ts';
import { lazy, useInspector, useStore } from '../context.ts';
import { CopyButton } from '../copy.ts';
import { Status } from '../status.ts';
import { useNow, useOpenEndpoint, usePopup, type OpenEndpoint } from './hooks.ts';
import { captureUrl, expiryInWords, nameOf, usageInWords } from './in-words.ts';

const EndpointList = lazy(async () => (await import('./endpoint-list.ts')).EndpointList);
const MenuItems = lazy(async () => (await import('./menu.ts')).MenuItems);

export function Header(): ComponentChild {
  const { settings, open } = useInspector();
  const feed = useStore(open)?.feed;
  const endpoint = useOpenEndpoint();
  const isThere = feed !== undefined && endpoint !== undefined && !endpoint.gone;
  return el(
    'header',
    { class: 'header' },
    el('h1', { class: 'brand' }, el('a', { href: '#/' }, 'Hookbay')),
    h(Switcher, null),
    isThere &&
      h(CopyButton, {
        text: captureUrl(settings.captureBase, endpoint.record ?? { id: endpoint.id, alias: null }),
        label: 'Copy URL',
        what: 'The URL',
      }),
    isThere && h(Status, { feed }),
    h(UsageMeter, null),
    h(Menu, null),
  );
}

const REFRESH_MS = 60_000;

/** Captures of today against the cap of the plan. */
function UsageMeter(): ComponentChild {
  const { endpoints } = useInspector();
  const usage = useStore(endpoints.state, (state) => state.usage);
  const open = useOpenEndpoint();
  const now = useNow();
  useRefresh(endpoints);
  if (usage === undefined) return null;
  // The list had both numbers at the same time, so what the endpoint captured since is what they both lack.
  const arrived = open?.record === undefined ? 0 : open.captured - open.record.request_count;
  const { text, title, state, share } = usageInWords(usage, arrived, now);
  return el(
    'div',
    { class: 'usage', 'data-state': state, title },
    el('span', null, text),
    share !== undefined &&
      el(
        'span',
        { class: 'usage-bar', 'aria-hidden': 'true' },
        el('span', { style: { width: `${Math.round(share * 1_000) / 10}%` } }),
      ),
  );
}

/** Other endpoints of the user capture too, and so do other tabs. */
function useRefresh(endpoints: Endpoints): void {
  useEffect(() => {
    const refresh = (): void => {
      if (document.visibilityState === 'visible') void endpoints.refresh();
    };
    const timer = setInterval(refresh, REFRESH_MS);
    addEventListener('focus', refresh);
    return () => {
      clearInterval(timer);
      removeEventListener('focus', refresh);
    };
  }, [endpoints]);
}

/** Says which endpoint is open, and opens another one. */
function Switcher(): ComponentChild {
  const { endpoints } = useInspector();
  const open = useOpenEndpoint();
  const now = useNow();
  const popup = usePopup();
  const { isOpen } = popup;
  const toggle = (): void => {
    if (!isOpen) void endpoints.refresh();
    popup.toggle();
  };
  if (open === undefined) return null;
  return el(
    'div',
    { class: 'switcher', ...popup.frame },
    el(
      'button',
      {
        type: 'button',
        class: 'switcher-button',
        'aria-haspopup': 'dialog',
        'aria-expanded': isOpen ? 'true' : 'false',
        onClick: toggle,
      },
      offScreen('Endpoint '),
      el(
        'span',
        { class: 'switcher-name' },
        open.gone ? 'Choose an endpoint' : nameOf(open.record ?? { id: open.id, alias: null }),
        !open.gone && offScreen(': '),
      ),
      !open.gone && facts(open, now),
    ),
    isOpen && h(EndpointList, { popup }),
  );
}

function facts({ captured, record }: OpenEndpoint, now: number): ComponentChild {
  const expiry = record === undefined ? undefined : expiryInWords(record, now);
  return el(
    'span',
    { class: 'switcher-facts' },
    el(
      'span',
      { title: `${formatCount(captured)} captured so far, with those that are deleted` },
      `${formatCount(captured)} captured`,
      offScreen(', '),
    ),
    record?.custom_response === true &&
      el(
        'span',
        { class: 'answers', title: 'Senders get a custom response in place of the receipt' },
        offScreen(', '),
        'custom response',
      ),
    expiry !== undefined && el('span', { class: 'expiry', 'data-state': expiry.state }, expiry.text),
  );
}

/** For people who hear the button's name. */
function offScreen(text: string): ComponentChild {
  return el('span', { class: 'off-screen' }, text);
}

/** What is needed now and then. */
function Menu(): ComponentChild {
  const popup = usePopup();
  const { isOpen } = popup;
  return el(
    'div',
    { class: 'menu', ...popup.frame },
    el(
      'button',
      {
        type: 'button',
        class: 'menu-button',
        'aria-label': 'Menu',
        'aria-haspopup': 'menu',
        'aria-expanded': isOpen ? 'true' : 'false',
        onClick: popup.toggle,
      },
      '⋯',
    ),
    isOpen && h(MenuItems, { popup }),
  );
}
