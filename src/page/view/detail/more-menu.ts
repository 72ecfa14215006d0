import type { ComponentChild, ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { el } from '../../el.ts';

/** Further actions, behind one button. Escape, an action, and whatever happens elsewhere close it. */
export function MoreMenu({ children }: { children?: ComponentChildren }): ComponentChild {
  const box = useRef<HTMLDetailsElement>(null);
  const close = (): void => {
    if (box.current !== null) box.current.open = false;
  };
  useEffect(() => {
    const outside = ({ target }: Event): void => {
      if (box.current?.contains(target as Node) === false) close();
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
    };
  }, []);
  return el(
    'details',
    {
      class: 'more-menu',
      ref: box,
      onKeyDown: (event) => {
        if (event.key !== 'Escape' || box.current?.open !== true) return;
        // Elsewhere it would close the request.
        event.stopPropagation();
        close();
        box.current.querySelector('summary')?.focus();
      },
    },
    el('summary', null, 'More'),
    el('div', { class: 'more-menu-items' }, children),
  );
}
