import type { LogEntry } from '../../domain/answers.ts';

/** Bytes of each body that the page keeps for the list and its filter; the detail is read again when it is opened. */
export const KEPT_BODY_BYTES = 16_384;

/** A log entry as lists and live events have it, with its body cut at `KEPT_BODY_BYTES`. */
export type Entry = LogEntry;

/** The part of a path behind `/h/<key>`; `/` where there is none. */
export function pathBehindKey(path: string): string {
  return behindKey(path) || '/';
}

/** The same; '' where there is none. */
export function behindKey(path: string): string {
  const slash = path.indexOf('/', '/h/'.length);
  return slash === -1 ? '' : path.slice(slash);
}

/** Roughly what an entry takes in memory. */
export function bytesOf({ body, path, headers }: Entry): number {
  let bytes = 600 + 2 * path.length + 2 * body.length;
  for (const name in headers) bytes += 100 + name.length + (headers[name] as string).length;
  return bytes;
}

/** With as much of its body as the page keeps: before it has subscribed, a connection gets longer ones. */
export function trimmed(entry: Entry): Entry {
  if (entry.body.length <= KEPT_BODY_BYTES) return entry;
  return { ...entry, body: entry.body.slice(0, KEPT_BODY_BYTES), body_truncated: true };
}

/** Adds entries to a list in the order of `seq`; both are in that order. New entries belong at the end of the list. */
export function insertBySeq(list: Entry[], entries: readonly Entry[]): void {
  const first = entries[0];
  if (first === undefined) return;
  const at = firstFrom(list, first.seq);
  if (at === list.length) {
    appendAll(list, entries);
    return;
  }
  const tail = [...list.splice(at), ...entries].toSorted((a, b) => a.seq - b.seq);
  appendAll(list, tail);
}

/** The first place of a list whose entry has this `seq` or a higher one. */
export function firstFrom(list: readonly Entry[], seq: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] as Entry).seq < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Arguments of a call would be limited in number. */
function appendAll(list: Entry[], entries: readonly Entry[]): void {
  for (const entry of entries) list.push(entry);
}
