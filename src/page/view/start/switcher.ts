import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { formatCount } from '../../content/size.ts';
import { useInspector } from '../context.ts';
import { EndpointList } from './endpoint-list.ts';
import { useNow, useOpenEndpoint, usePopup, type OpenEndpoint } from './hooks.ts';
import { expiryInWords, nameOf } from './in-words.ts';

/** Says which endpoint is open, and opens another one. */
export function Switcher(): ComponentChild {
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
    expiry !== undefined && el('span', { class: 'expiry', 'data-state': expiry.state }, expiry.text),
  );
}

/** For people who hear the button's name. */
function offScreen(text: string): ComponentChild {
  return el('span', { class: 'off-screen' }, text);
}
