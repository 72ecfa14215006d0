import type { ComponentChild } from 'preact';
import { otherZoneInWords } from '../../content/time.ts';
import { el } from '../../el.ts';
import type { Dialog } from '../../state/inspector.ts';
import { useInspector, useStore } from '../context.ts';
import { useOpenEndpoint, type Popup } from './hooks.ts';

interface Item {
  name: string;
  /** The key that does the same. */
  key?: string;
  act: () => void;
}

/** What the menu of the header offers. */
export function MenuItems({ popup }: { popup: Popup }): ComponentChild {
  const groups = useItems();
  const choose = ({ act }: Item): void => {
    // First, so that a dialog gives the focus back to the button.
    popup.close();
    act();
  };
  return el(
    'div',
    { class: 'popup menu-items', role: 'menu', 'aria-label': 'Menu', ref: focusFirst, onKeyDown: moveFocus },
    groups
      .filter((group) => group.length > 0)
      .map((group, i) => [
        i > 0 && el('div', { role: 'separator', class: 'menu-line' }),
        group.map((item) =>
          el(
            'button',
            { type: 'button', role: 'menuitem', tabIndex: -1, key: item.name, onClick: () => choose(item) },
            el('span', null, item.name),
            item.key !== undefined && el('kbd', { 'aria-hidden': 'true' }, item.key),
          ),
        ),
      ]),
  );
}

function useItems(): Item[][] {
  const { dialog, session, preferences } = useInspector();
  const zone = useStore(preferences.zone);
  const open = useOpenEndpoint();
  const opens = (next: Dialog) => () => dialog.set(next);
  const ofEndpoint = (endpointId: string): Item[] => [
    { name: 'Custom response …', act: opens({ name: 'response', endpointId }) },
    { name: 'Share links …', act: opens({ name: 'shares', endpointId }) },
    { name: 'Export …', act: opens({ name: 'export', endpointId }) },
    { name: 'Delete endpoint …', act: opens({ name: 'delete-endpoint', endpointId }) },
  ];
  return [
    [{ name: 'New endpoint …', act: opens({ name: 'create' }) }],
    open === undefined || open.gone ? [] : ofEndpoint(open.id),
    [
      {
        name: otherZoneInWords(zone),
        act: () => preferences.zone.set(zone === 'utc' ? 'local' : 'utc'),
      },
      { name: 'Keyboard help', key: '?', act: opens({ name: 'help' }) },
    ],
    [{ name: 'Sign out', act: () => session.signOut() }],
  ];
}

function focusFirst(menu: HTMLElement | null): void {
  if (menu !== null && !menu.contains(document.activeElement)) menu.querySelector('button')?.focus();
}

/** Arrows, Home, End and first letters, as in every menu; Tab leaves it. */
function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const all = [...event.currentTarget.querySelectorAll('button')];
  const at = all.indexOf(document.activeElement as HTMLButtonElement);
  const targets: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
  const target = targets[event.key];
  if (target !== undefined) {
    event.preventDefault();
    all.at(target % all.length)?.focus();
  } else if (/^\S$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const after = [...all.slice(at + 1), ...all.slice(0, at + 1)];
    after.find(({ textContent }) => textContent.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
  }
}
