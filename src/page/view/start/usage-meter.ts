import type { ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { el } from '../../el.ts';
import type { Endpoints } from '../../state/endpoints.ts';
import { useInspector, useStore } from '../context.ts';
import { useNow, useOpenEndpoint } from './hooks.ts';
import { usageInWords } from './in-words.ts';

const REFRESH_MS = 60_000;

/** Captures of today against the cap of the plan. */
export function UsageMeter(): ComponentChild {
  const { endpoints } = useInspector();
  const usage = useStore(endpoints.state, (state) => state.usage);
  const open = useOpenEndpoint();
  const now = useNow();
  useRefresh(endpoints);
  if (usage === undefined) return null;
  // The list had both numbers at the same time, so what the endpoint captured since is what they both lack.
  const arrived = open?.record === undefined ? 0 : open.captured - open.record.request_count;
  const { text, title, state, share } = usageInWords(usage, arrived, now);
  return el(
    'div',
    { class: 'usage', 'data-state': state, title },
    el('span', null, text),
    share !== undefined &&
      el(
        'span',
        { class: 'usage-bar', 'aria-hidden': 'true' },
        el('span', { style: { width: `${Math.round(share * 1_000) / 10}%` } }),
      ),
  );
}

/** Other endpoints of the user capture too, and so do other tabs. */
function useRefresh(endpoints: Endpoints): void {
  useEffect(() => {
    const refresh = (): void => {
      if (document.visibilityState === 'visible') void endpoints.refresh();
    };
    const timer = setInterval(refresh, REFRESH_MS);
    addEventListener('focus', refresh);
    return () => {
      clearInterval(timer);
      removeEventListener('focus', refresh);
    };
  }, [endpoints]);
}
