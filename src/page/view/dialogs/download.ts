import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatSize } from '../../content/size.ts';
import { el } from '../../el.ts';
import { createStore, type Store } from '../../state/store.ts';
import { useInspector, useStore } from '../context.ts';
import { useTask, type Task } from '../task.ts';

export interface Download extends Task {
  /** Reads a file of the API; `use` gets it when all of it has come. */
  start: (path: string, use: (file: Blob) => Promise<void> | void) => void;
  stop: () => void;
  /** How many bytes have come. */
  bytes: Store<number>;
}

/** One download at a time; it ends with the dialog. */
export function useDownload(): Download {
  const { api } = useInspector();
  const task = useTask();
  const [bytes] = useState(() => createStore(0));
  const [stopper] = useState<{ current: AbortController }>(() => ({ current: new AbortController() }));
  useEffect(() => () => stopper.current.abort(), []);
  return {
    ...task,
    bytes,
    stop: () => stopper.current.abort(new Error('Stopped: nothing is saved')),
    start(path, use) {
      stopper.current = new AbortController();
      bytes.set(0);
      task.run(async () => use(await api.bytes(path, stopper.current.signal, (count) => bytes.set(count))));
    },
  };
}

export function DownloadProgress({ download }: { download: Download }): ComponentChild {
  const bytes = useStore(download.bytes);
  return el(
    'p',
    { class: 'progress', role: 'status' },
    `${formatSize(bytes)} so far … `,
    el('button', { type: 'button', onClick: download.stop }, 'Stop'),
  );
}
