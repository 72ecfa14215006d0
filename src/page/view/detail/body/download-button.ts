import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { el } from '../../../el.ts';
import { messageOf } from '../../../state/api.ts';
import { useInspector } from '../../context.ts';
import { saveFile } from '../../save.ts';

/** Saves the whole body of an entry, byte for byte. */
export function DownloadButton({ id }: { id: string }): ComponentChild {
  const { api } = useInspector();
  const [state, setState] = useState<'idle' | 'loading' | { error: string }>('idle');
  const download = async (): Promise<void> => {
    setState('loading');
    try {
      saveFile(await api.bytes(`/api/requests/${id}/body`), `${id}.bin`);
      setState('idle');
    } catch (error) {
      setState({ error: messageOf(error) });
    }
  };
  const isLoading = state === 'loading';
  return [
    el(
      'button',
      { class: 'small', disabled: isLoading, onClick: () => void download() },
      isLoading ? 'Downloading …' : 'Download',
    ),
    typeof state === 'object' && el('span', { class: 'error', role: 'alert' }, state.error),
  ];
}
