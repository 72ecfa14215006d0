import { useRef, useState } from 'preact/hooks';
import { messageOf } from '../state/api.ts';

export interface Task {
  busy: boolean;
  /** What went wrong the last time. */
  error: string | undefined;
  /** Does the work, unless some is being done. */
  run: (work: () => Promise<void>) => void;
  clear: () => void;
}

/** Work that a button begins: one at a time, and its error in words. */
export function useTask(): Task {
  const [state, setState] = useState<{ busy: boolean; error: string | undefined }>({ busy: false, error: undefined });
  const running = useRef(false);
  return {
    ...state,
    clear: () => setState((now) => ({ ...now, error: undefined })),
    run(work) {
      if (running.current) return;
      running.current = true;
      setState({ busy: true, error: undefined });
      const end = (error?: unknown): void => {
        running.current = false;
        setState({ busy: false, error: error === undefined ? undefined : messageOf(error) });
      };
      work().then(() => end(), end);
    },
  };
}
