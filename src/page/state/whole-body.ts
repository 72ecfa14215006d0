import type { LogEntry } from '../../domain/answers.ts';
import { bodyBytes } from '../content/bytes.ts';
import { exactSize } from '../content/size.ts';
import type { Api } from './api.ts';

/**
 * The exact bytes of a body.
 * @throws Error where it has not come as a whole
 */
export async function readBody(
  api: Api,
  { id, size }: Pick<LogEntry, 'id' | 'size'>,
  signal?: AbortSignal,
  onBytes?: (loaded: number) => void,
): Promise<Blob> {
  const body = await api.bytes(`/api/requests/${id}/body`, signal, onBytes);
  if (body.size !== size) throw new Error(`${exactSize(body.size)} of ${exactSize(size)} came`);
  return body;
}

/** The same from memory, where the entry has all of it. */
export async function wholeBody(api: Api, entry: LogEntry, signal?: AbortSignal): Promise<Uint8Array> {
  if (!entry.body_truncated) return bodyBytes(entry);
  return new Uint8Array(await (await readBody(api, entry, signal)).arrayBuffer());
}
