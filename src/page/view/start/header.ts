import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';
import { CopyButton } from '../copy.ts';
import { Status } from '../status.ts';
import { useOpenEndpoint } from './hooks.ts';
import { captureUrl } from './in-words.ts';
import { Menu } from './menu.ts';
import { Switcher } from './switcher.ts';
import { UsageMeter } from './usage-meter.ts';

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
