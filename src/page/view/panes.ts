import { h, type ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { el } from '../el.ts';
import type { Open } from '../state/opening.ts';
import { lazy, useInspector, useStore } from './context.ts';
import { ListPane } from './list/list-pane.ts';

/* The list is there before the code that shows an entry, which comes while people look at the list. */
const loadDetail = async () => (await import('./detail/detail-pane.ts')).DetailPane;
const DetailPane = lazy(loadDetail);
const ComparePane = lazy(async () => (await import('./detail/compare.ts')).ComparePane);

/** The list, where one is open, and beside it the entry that is open. */
export function Panes({ open }: { open: Open | undefined }): ComponentChild {
  return el(
    'main',
    { class: 'panes', 'data-only-detail': open === undefined ? 'true' : undefined },
    open !== undefined && h(ListPane, { open, key: open.feed.endpointId }),
    h(EntryPane, null),
  );
}

/** The entry that is open, or what it differs in from another one. */
function EntryPane(): ComponentChild {
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
