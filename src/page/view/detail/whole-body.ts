import { useEffect, useState } from 'preact/hooks';
import type { Bytes } from '../../content/bytes.ts';
import type { Entry } from '../../model/entry.ts';
import { messageOf } from '../../state/api.ts';
import { readBody } from '../../state/whole-body.ts';
import { useInspector } from '../context.ts';

/** A body of this length is read as a whole when its entry is opened. */
const OPENED_BYTES = 1024 * 1024;
/** Longer ones are not shown as a whole: finding out what they are would hold the page up. */
const MAX_SHOWN_BYTES = 4 * 1024 * 1024;

/** What lies beyond the beginning of a body that comes with its entry. */
export interface WholeBody {
  bytes: Bytes | undefined;
  state: 'none' | 'loading' | { error: string };
  /** Reads it; undefined where that would be too much to show. */
  load: (() => void) | undefined;
}

/** @param isReady whether the entry has been read, so that nobody is just passing by */
export function useWholeBody({ id, size, body_truncated: isCut }: Entry, isReady: boolean): WholeBody {
  const { api } = useInspector();
  const [wantedId, setWantedId] = useState<string>();
  const [read, setRead] = useState<{ id: string; bytes?: Bytes; error?: string }>();
  const isWanted = isReady && isCut === true && (size <= OPENED_BYTES || wantedId === id);
  useEffect(() => {
    if (!isWanted) return undefined;
    const left = new AbortController();
    const show = (result: { bytes?: Bytes; error?: string }): void => {
      if (!left.signal.aborted) setRead({ id, ...result });
    };
    readBody(api, { id, size }, left.signal)
      .then((blob) => blob.arrayBuffer())
      .then(
        (buffer) => show({ bytes: new Uint8Array(buffer) }),
        (error: unknown) => show({ error: messageOf(error) }),
      );
    return () => left.abort();
  }, [id, isWanted]);
  const { bytes, error } = read?.id === id ? read : {};
  return {
    bytes,
    state: error !== undefined ? { error } : isWanted && bytes === undefined ? 'loading' : 'none',
    load: size <= MAX_SHOWN_BYTES && !isWanted ? () => setWantedId(id) : undefined,
  };
}
