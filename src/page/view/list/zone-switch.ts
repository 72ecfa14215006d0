import type { ComponentChild } from 'preact';
import { otherZoneInWords } from '../../content/time.ts';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';

/** Whether times on the whole page are local ones or UTC. */
export function ZoneSwitch(): ComponentChild {
  const { zone } = useInspector().preferences;
  const now = useStore(zone);
  return el(
    'button',
    {
      class: 'quiet zone',
      title: otherZoneInWords(now),
      onClick: () => zone.set(now === 'utc' ? 'local' : 'utc'),
    },
    now === 'utc' ? 'Times: UTC' : 'Times: local',
  );
}
