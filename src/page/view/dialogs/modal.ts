import type { ComponentChild, ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { el } from '../../el.ts';
import { useInspector } from '../context.ts';

interface ModalProps {
  title: string;
  children?: ComponentChildren;
  /** Buttons of the foot before the one that closes: first what the dialog is for. */
  actions?: ComponentChildren;
  /** What the button that closes says: by default whether something is left undone. */
  closing?: 'Cancel' | 'Close';
  /** With it the dialog is a form; one of the actions submits it. */
  onSubmit?: () => void;
  /** What would be lost, in a sentence: closing asks first. */
  unsaved?: string | undefined;
}

/** A dialog over the page. The browser keeps the focus inside, and closes it with Escape. */
export function Modal({ title, children, actions, closing, onSubmit, unsaved }: ModalProps): ComponentChild {
  const { dialog } = useInspector();
  const [asking, setAsking] = useState(false);
  const box = useOpen();
  const close = (): void => (unsaved !== undefined && !asking ? setAsking(true) : box.current?.close());
  /** Before the browser closes it, which it does at once when Escape is pressed twice. */
  const holdOpen = (event: Event): void => {
    if (unsaved === undefined) return;
    event.preventDefault();
    setAsking(true);
  };
  const content = [
    el(
      'div',
      { class: 'modal-head' },
      el('h2', { id: 'modal-title' }, title),
      el('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', onClick: close }, '×'),
    ),
    // What scrolls has to be reachable by keyboard, also without a field in it.
    el('div', { class: 'modal-body', tabIndex: onSubmit === undefined ? 0 : undefined }, children),
    asking && unsaved !== undefined
      ? discard(
          unsaved,
          () => box.current?.close(),
          () => setAsking(false),
        )
      : el(
          'div',
          { class: 'modal-foot' },
          actions,
          el('button', { type: 'button', onClick: close }, closing ?? (actions === undefined ? 'Close' : 'Cancel')),
        ),
  ];
  return el(
    'dialog',
    {
      ref: box,
      class: 'modal',
      'aria-labelledby': 'modal-title',
      onClose: () => dialog.set(undefined),
      onCancel: holdOpen,
      onKeyDown: (event) => {
        // Keys of the page do not act through a dialog.
        event.stopPropagation();
        if (event.key === 'Escape') holdOpen(event);
      },
      onPointerDown: (event) => {
        if (event.target === box.current) close();
      },
    },
    onSubmit === undefined
      ? el('div', { class: 'modal-box' }, content)
      : el('form', { class: 'modal-box', noValidate: true, onSubmit: submitting(onSubmit) }, content),
  );
}

function discard(unsaved: string, close: () => void, stay: () => void): ComponentChild {
  return el(
    'div',
    { class: 'modal-foot' },
    el('p', { role: 'alert' }, unsaved),
    el('button', { type: 'button', autofocus: true, onClick: stay }, 'Stay'),
    el('button', { type: 'button', class: 'danger', onClick: close }, 'Close anyway'),
  );
}

/** Opens the dialog, and gives the focus back to what had it before; where that is gone, to the list. */
function useOpen(): RefObject<HTMLDialogElement | null> {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      // An open one would still keep the focus.
      element?.close();
      const there = before?.isConnected === true && before !== document.body;
      const target = there ? before : document.querySelector('[role="listbox"]');
      if (target instanceof HTMLElement) target.focus();
    };
  }, []);
  return box;
}

function submitting(onSubmit: () => void): (event: Event) => void {
  return (event) => {
    event.preventDefault();
    onSubmit();
  };
}
