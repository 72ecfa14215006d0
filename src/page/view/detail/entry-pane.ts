import { h, type ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { useInspector, useStore } from '../context.ts';
import { lazy } from '../lazy.ts';

/* The list is there before the code that shows an entry, which comes while people look at the list. */
const loadDetail = async () => (await import('./detail-pane.ts')).DetailPane;
const DetailPane = lazy(loadDetail);
const ComparePane = lazy(async () => (await import('./compare.ts')).ComparePane);

/** The entry that is open, or what it differs in from another one. */
export function EntryPane(): ComponentChild {
  const { address } = useInspector();
  const { request, compare } = useStore(address);
  useEffect(() => {
    // Somebody is there who may open one. A failure is told when they do.
    const prepare = (): void => void loadDetail().catch(() => undefined);
    const signs = ['pointermove', 'pointerdown', 'keydown'] as const;
    for (const sign of signs) addEventListener(sign, prepare, { once: true });
    return () => {
      for (const sign of signs) removeEventListener(sign, prepare);
    };
  }, []);
  if (request === undefined) return null;
  return compare === undefined ? h(DetailPane, { id: request }) : h(ComparePane, { id: request, other: compare });
}
