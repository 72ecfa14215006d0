import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LogEntry } from '../../../domain/answers.ts';
import { exactSize, formatSize } from '../../content/size.ts';
import { el } from '../../el.ts';
import { messageOf } from '../../state/api.ts';
import { useInspector } from '../context.ts';
import { saveFile } from '../save.ts';
import { readBody } from '../../state/whole-body.ts';

/** Saves the body of an entry, to the byte. While it comes, the button stops it. */
export function DownloadButton({ entry, label }: { entry: LogEntry; label: string }): ComponentChild {
  const { api, say } = useInspector();
  const [loaded, setLoaded] = useState<number>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const download = async (): Promise<void> => {
    const { signal } = (stop.current = new AbortController());
    setLoaded(0);
    try {
      const body = await readBody(api, entry, signal, setLoaded);
      saveFile(body, `${entry.id}.bin`);
      say(`${exactSize(body.size)} are saved as ${entry.id}.bin`);
    } catch (error) {
      say(signal.aborted ? 'The download was stopped' : `The download failed: ${messageOf(error)}`);
    }
    setLoaded(undefined);
  };
  if (loaded === undefined) return el('button', { type: 'button', onClick: () => void download() }, label);
  const progress = `${formatSize(loaded)} of ${formatSize(entry.size)}`;
  return el('button', { type: 'button', onClick: () => stop.current?.abort() }, `Stop (${progress})`);
}
