import { eventName, recognise } from '../content/provider.ts';
import type { Entry } from '../model/entry.ts';

/** What an entry is about, where it says so. */
export function eventOf(entry: Entry): string | undefined {
  return recognise(entry)?.event ?? eventName(entry);
}

/**
 * The last entry before another one with the same method, path and event; otherwise the last with the same method and
 * path. What is not like it would differ in everything, which says nothing.
 * @param entries in the order of `seq`
 */
export function previousLike(entries: readonly Entry[], entry: Entry): Entry | undefined {
  const same = entries.filter((other) => other.seq < entry.seq && hasSamePath(other, entry));
  const event = eventOf(entry);
  return same.findLast((other) => eventOf(other) === event) ?? same.at(-1);
}

/** What `previousLike` found: `the previous push of GitHub to this path`. */
export function previousInWords(entry: Entry, previous: Entry): string {
  const event = eventOf(entry);
  const sender = recognise(entry)?.name;
  if (event === undefined) return `the previous ${entry.method} to this path`;
  if (eventOf(previous) !== event) return `the previous ${entry.method} to this path, of another event`;
  return `the previous ${event}${sender === undefined ? '' : ` of ${sender}`} to this path`;
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
