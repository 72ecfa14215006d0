import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { firstFrom, type Entry } from '../../model/entry.ts';

/** What of the list is in view. Places count from the top of the list, where the newest entry is. */
export interface Viewport {
  /** The part of the list that is in the document. */
  first: number;
  last: number;
  rowPx: number;
  pageRows: number;
  /** Whether new entries push in at the top. */
  following: boolean;
  /** How many of them came since that ended. */
  fresh: number;
  onScroll: () => void;
  toTop: () => void;
  /** Brings a place into view, and stays with it. */
  reveal: (place: number) => void;
}

/** The entry at the upper edge of the view, and by how much of it that is. */
interface Anchor {
  seq: number;
  offset: number;
}

const OVERSCAN = 4;

/**
 * Where the list is scrolled to, by the entry at its upper edge: whatever is added above of it or deleted, that stays
 * where it is. Without such an entry, the list follows the newest ones.
 */
export function useViewport(box: RefObject<HTMLElement | null>, rows: readonly Entry[]): Viewport {
  const [anchor, setAnchor] = useState<Anchor>();
  const { height, rowPx } = useSizes(box);
  /** What `scrollTop` was, as far as is known. */
  const known = useRef(0);
  const newest = useRef(0);
  const drawn = useRef<{ first: number; rows: readonly Entry[] }>({ first: 0, rows: [] });

  const following = anchor === undefined;
  const top = following ? 0 : placeOf(rows, anchor.seq) * rowPx + anchor.offset;
  if (following) newest.current = rows.at(-1)?.seq ?? 0;
  const first = Math.max(0, Math.floor(top / rowPx) - OVERSCAN);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowPx) + OVERSCAN);
  drawn.current = { first, rows: rows.slice(rows.length - last, rows.length - first).toReversed() };

  useLayoutEffect(() => {
    const shift = top - known.current;
    if (shift === 0 || box.current === null || height === 0) return;
    // Not to `top`: people may have scrolled since.
    box.current.scrollTop += shift;
    known.current = top;
  });

  // A list that was hidden has lost its place.
  useLayoutEffect(() => {
    if (height > 0 && box.current !== null) box.current.scrollTop = known.current = top;
  }, [height > 0]);

  /** `rows` may have changed since they were drawn. */
  const anchorAt = (at: number): Anchor | undefined => {
    const place = Math.floor(at / rowPx);
    const entry = drawn.current.rows[place - drawn.current.first] ?? rows.at(-1 - place);
    return entry === undefined ? undefined : { seq: entry.seq, offset: at - place * rowPx };
  };
  const moveTo = (at: number): void => {
    known.current = at;
    setAnchor(at <= 0 ? undefined : anchorAt(at));
  };

  return {
    first,
    last,
    rowPx,
    pageRows: Math.max(1, Math.floor(height / rowPx) - 1),
    following,
    fresh: rows.length - firstFrom(rows, newest.current + 1),
    onScroll() {
      if (box.current !== null && box.current.clientHeight > 0) moveTo(box.current.scrollTop);
    },
    toTop() {
      if (box.current !== null) box.current.scrollTop = 0;
      moveTo(0);
    },
    reveal(place) {
      if (box.current === null) return;
      // Read here: what opens with the page is revealed before the view has been measured.
      const { scrollTop: now, clientHeight } = box.current;
      const wanted = Math.max(Math.min(now, place * rowPx), (place + 1) * rowPx - (clientHeight || rowPx));
      if (wanted !== now) box.current.scrollTop = wanted;
      if (wanted !== now || (following && place > 0)) {
        known.current = box.current.scrollTop;
        setAnchor(wanted <= 0 && place === 0 ? undefined : anchorAt(wanted));
      }
    },
  };
}

/** How many entries are newer. */
export function placeOf(rows: readonly Entry[], seq: number): number {
  return rows.length - firstFrom(rows, seq + 1);
}

/** The height of the view, and of a row, which the style sheet has. */
function useSizes(box: RefObject<HTMLElement | null>): { height: number; rowPx: number } {
  const [sizes, setSizes] = useState({ height: 0, rowPx: 32 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void =>
      setSizes({
        // Not `clientHeight`, which is rounded.
        height: element.getBoundingClientRect().height,
        rowPx: Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 32,
      });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return sizes;
}
