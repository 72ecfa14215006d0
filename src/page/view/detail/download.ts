import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LogEntry } from '../../../domain/answers.ts';
import { bodyBytes } from '../../content/bytes.ts';
import { kindOf } from '../../content/kind.ts';
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
      const name = `${entry.id}.${extensionOf(entry)}`;
      saveFile(body, name);
      say(`${exactSize(body.size)} are saved as ${name}`);
    } catch (error) {
      say(signal.aborted ? 'The download was stopped' : `The download failed: ${messageOf(error)}`);
    }
    setLoaded(undefined);
  };
  if (loaded === undefined) return el('button', { type: 'button', onClick: () => void download() }, label);
  const progress = `${formatSize(loaded)} of ${formatSize(entry.size)}`;
  return el('button', { type: 'button', onClick: () => stop.current?.abort() }, `Stop (${progress})`);
}

const EXTENSIONS: Record<string, string> = { json: 'json', ndjson: 'ndjson', xml: 'xml', text: 'txt' };

/** By what the body is, as far as that is known, never by what its sender says. */
function extensionOf(entry: LogEntry): string {
  if (entry.body_truncated) return 'bin';
  const { kind, mediaType } = kindOf(bodyBytes(entry), entry.content_type);
  return mediaType?.replace('image/', '') ?? EXTENSIONS[kind] ?? 'bin';
}
