import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { createStore, type Store } from '../../state/store.ts';
import { findEndpoint, type Endpoint } from '../../state/endpoints.ts';
import { useInspector, useStore } from '../context.ts';

/** The time; the view is drawn again as often as relative times need it. */
export function useNow(everyMs = 15_000): number {
  const [, draw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => draw((count) => count + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return Date.now();
}

const NONE: Store<unknown> = createStore(undefined);

export interface OpenEndpoint {
  id: string;
  /** Undefined until it has been read. */
  record: Endpoint | undefined;
  /** How many it has captured, with those that arrive. */
  captured: number;
  /** There is none of this id, or it is somebody else's. */
  gone: boolean;
}

/** The endpoint that is open. */
export function useOpenEndpoint(): OpenEndpoint | undefined {
  const { open, endpoints } = useInspector();
  const feed = useStore(open)?.feed;
  const record = useStore(endpoints.state, (now) => findEndpoint(now, feed?.endpointId));
  const last = useStore<unknown, number>(feed?.state ?? NONE, () => feed?.book.entries.at(-1)?.seq ?? 0);
  const gone = useStore<unknown, boolean>(feed?.state ?? NONE, () => feed?.state.get().list === 'gone');
  if (feed === undefined) return undefined;
  return { id: feed.endpointId, record, captured: Math.max(last, record?.request_count ?? 0), gone };
}

export interface Popup {
  isOpen: boolean;
  toggle: () => void;
  /** Gives the focus back to the button. */
  close: () => void;
  /** Attributes of the element around button and popup. */
  frame: {
    ref: RefObject<HTMLDivElement | null>;
    onKeyDown: (event: KeyboardEvent) => void;
    onFocusOut: (event: FocusEvent) => void;
  };
}

/** What opens below a button, and closes with Escape, a press elsewhere, or when the focus leaves it. */
export function usePopup(): Popup {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const isInside = (target: EventTarget | null): boolean => root.current?.contains(target as Node | null) === true;
  useEffect(() => {
    if (!isOpen) return undefined;
    const pressed = ({ target }: Event): void => {
      if (!isInside(target)) setOpen(false);
    };
    document.addEventListener('pointerdown', pressed);
    return () => document.removeEventListener('pointerdown', pressed);
  }, [isOpen]);

  function close(): void {
    setOpen(false);
    root.current?.querySelector('button')?.focus();
  }

  return {
    isOpen,
    toggle: () => (isOpen ? close() : setOpen(true)),
    close,
    frame: {
      ref: root,
      onKeyDown(event) {
        if (!isOpen) return;
        // The page's own keys act on the list.
        event.stopPropagation();
        if (event.key === 'Escape') close();
      },
      onFocusOut({ relatedTarget }) {
        if (isOpen && relatedTarget !== null && !isInside(relatedTarget)) setOpen(false);
      },
    },
  };
}
