import type { ComponentChild, ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { el } from '../../el.ts';
import { useInspector } from '../context.ts';

/** A dialog over the page. The browser keeps the focus inside, closes it with Escape, and gives the focus back. */
export function Modal({ title, children }: { title: string; children?: ComponentChildren }): ComponentChild {
  const { dialog } = useInspector();
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return el(
    'dialog',
    { ref: box, class: 'modal', 'aria-labelledby': 'modal-title', onClose: () => dialog.set(undefined) },
    el(
      'div',
      { class: 'modal-head' },
      el('h2', { id: 'modal-title' }, title),
      el('button', { class: 'quiet', 'aria-label': 'Close', onClick: () => box.current?.close() }, '×'),
    ),
    children,
  );
}
