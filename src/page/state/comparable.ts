import { eventName, recognise } from '../content/provider.ts';
import type { Entry } from '../model/entry.ts';

/** What an entry is about, where it says so. */
export function eventOf(entry: Entry): string | undefined {
  return recognise(entry)?.event ?? eventName(entry);
}

/**
 * The last entry before another one with the same method, path and event; without one the last with the same method
 * and path, or the last of all.
 * @param entries in the order of `seq`
 */
export function previousLike(entries: readonly Entry[], entry: Entry): Entry | undefined {
  const before = entries.filter(({ seq }) => seq < entry.seq);
  const same = before.filter((other) => hasSamePath(other, entry));
  const event = eventOf(entry);
  return same.findLast((other) => eventOf(other) === event) ?? same.at(-1) ?? before.at(-1);
}

/** The other entries, newest first: at first those with the same method and path. */
export function comparable(entries: readonly Entry[], entry: Entry): Entry[] {
  const others = entries.filter(({ id }) => id !== entry.id).toReversed();
  return [
    ...others.filter((other) => hasSamePath(other, entry)),
    ...others.filter((other) => !hasSamePath(other, entry)),
  ];
}

function hasSamePath(a: Entry, b: Entry): boolean {
  return a.method === b.method && a.path === b.path;
}
