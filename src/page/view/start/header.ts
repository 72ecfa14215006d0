import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';
import { CopyButton } from '../copy.ts';
import { Status } from '../status.ts';
import { Switcher } from './switcher.ts';
import { UsageMeter } from './usage-meter.ts';

export function Header(): ComponentChild {
  const { open, settings } = useInspector();
  const opened = useStore(open);
  return el(
    'header',
    { class: 'header' },
    el('h1', { class: 'brand' }, 'Hookbay'),
    opened !== undefined && h(Status, { feed: opened.feed }),
    h(Switcher, null),
    opened !== undefined &&
      h(CopyButton, {
        text: `${settings.captureBase}/h/${opened.feed.endpointId}`,
        label: 'Copy URL',
        what: 'The URL',
      }),
    h(UsageMeter, null),
  );
}
