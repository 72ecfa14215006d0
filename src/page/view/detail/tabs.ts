import type { ComponentChild } from 'preact';
import { useRef } from 'preact/hooks';
import { el } from '../../el.ts';

interface TabsProps {
  label: string;
  tabs: readonly (readonly [id: string, name: string])[];
  selected: string;
  onSelect: (id: string) => void;
  /** The id of the one panel that all of them show. */
  panel: string;
}

/** A list of tabs, as in the ARIA patterns: Tab stops at the selected one, and arrows move the selection. */
export function Tabs({ label, tabs, selected, onSelect, panel }: TabsProps): ComponentChild {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const to = target(
      event,
      tabs.findIndex(([id]) => id === selected),
      tabs.length,
    );
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onSelect((tabs[to] as readonly [string, string])[0]);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[to]?.focus();
  };
  return el(
    'div',
    { class: 'tabs', role: 'tablist', 'aria-label': label, ref: list, onKeyDown: move },
    tabs.map(([id, name]) => {
      const isSelected = id === selected;
      return el(
        'button',
        {
          key: id,
          id: `tab-${id}`,
          role: 'tab',
          'aria-selected': isSelected ? 'true' : 'false',
          'aria-controls': isSelected ? panel : undefined,
          tabIndex: isSelected ? 0 : -1,
          onClick: () => onSelect(id),
        },
        name,
      );
    }),
  );
}

function target({ key, ctrlKey, altKey, metaKey }: KeyboardEvent, at: number, count: number): number | undefined {
  if (ctrlKey || altKey || metaKey) return undefined;
  switch (key) {
    case 'ArrowRight':
      return (at + 1) % count;
    case 'ArrowLeft':
      return (at + count - 1) % count;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
