import type { LogEntry } from '../../domain/answers.ts';
import { compareBodies, type BodyDifference } from './diff-body.ts';
import { headersOf, targetOf } from './message.ts';

/** A value, or the values of a name; no values where the name is absent. */
export interface Change {
  name: string;
  a: string[];
  b: string[];
}

export interface Section {
  title: 'Request' | 'Query' | 'Headers';
  /** What differs. */
  changes: Change[];
}

export interface Difference {
  /** Whether method, target, headers and body are the same. Time, address and ids always differ. */
  identical: boolean;
  sections: Section[];
  body: BodyDifference;
}

export const MAX_CHANGES = 200;

export async function compareEntries(a: LogEntry, b: LogEntry): Promise<Difference> {
  const sections: Section[] = [
    { title: 'Request', changes: [change('method', a.method, b.method), change('path', a.path, b.path)] },
    { title: 'Query', changes: queryChanges(a, b) },
    { title: 'Headers', changes: namedChanges(headerValues(a, b), headerValues(b, a)) },
  ].map(({ title, changes }) => ({
    title: title as Section['title'],
    changes: changes.filter(isChanged).slice(0, MAX_CHANGES),
  }));
  const body = await compareBodies(a, b);
  return { identical: body.identical && sections.every(({ changes }) => changes.length === 0), sections, body };
}

/** By name; where no value differs, the order or the encoding may. */
function queryChanges(a: LogEntry, b: LogEntry): Change[] {
  const changes = namedChanges(queryValues(a), queryValues(b)).filter(isChanged);
  return changes.length > 0 ? changes : [change('as sent', queryOf(a), queryOf(b))];
}

function queryValues({ query }: LogEntry): Map<string, string[]> {
  return new Map(Object.entries(query).map(([name, values]) => [name, [values].flat()]));
}

function queryOf(entry: LogEntry): string {
  const target = targetOf(entry);
  const mark = target.indexOf('?');
  return mark === -1 ? '' : target.slice(mark);
}

/** By lower-case name. Only where both entries have their raw headers are repeated ones told apart. */
function headerValues(entry: LogEntry, other: LogEntry): Map<string, string[]> {
  const isRaw = entry.raw_headers !== undefined && other.raw_headers !== undefined;
  const values = new Map<string, string[]>();
  for (const [name, value] of isRaw ? headersOf(entry) : Object.entries(entry.headers)) {
    const key = name.toLowerCase();
    const before = values.get(key);
    if (before === undefined) values.set(key, [value]);
    else before.push(value);
  }
  return values;
}

function namedChanges(a: Map<string, string[]>, b: Map<string, string[]>): Change[] {
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].map((name) => ({ name, a: a.get(name) ?? [], b: b.get(name) ?? [] }));
}

function change(name: string, a: string, b: string): Change {
  return { name, a: [a], b: [b] };
}

function isChanged({ a, b }: Change): boolean {
  return a.length !== b.length || a.some((value, i) => value !== b[i]);
}
