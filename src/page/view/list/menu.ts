import type { ComponentChild, ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { el } from '../../el.ts';

/** A button that shows choices below it, until something else is pressed. */
export function Menu({
  label,
  isSet,
  children,
}: {
  label: string;
  isSet: boolean;
  children: () => ComponentChildren;
}): ComponentChild {
  const box = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (event: Event): void => {
      if (event.target instanceof Node && box.current?.contains(event.target)) return;
      if (box.current !== null) box.current.open = false;
    };
    const events = ['pointerdown', 'focusin'];
    for (const name of events) document.addEventListener(name, close);
    return () => {
      for (const name of events) document.removeEventListener(name, close);
    };
  }, [isOpen]);
  const escape = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || box.current === null || !isOpen) return;
    event.preventDefault();
    box.current.open = false;
    box.current.querySelector('summary')?.focus();
  };
  return el(
    'details',
    {
      class: 'menu',
      ref: box,
      'data-set': isSet ? 'true' : undefined,
      onToggle: () => setOpen(box.current?.open === true),
      onKeyDown: escape,
    },
    el('summary', null, label),
    isOpen && el('div', { class: 'menu-choices' }, children()),
  );
}
