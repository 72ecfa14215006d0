import type { SubjectName } from '../subjects/subject.ts';
import type { Summary } from './results.ts';

/** A goal for the medians of one run; `value` is undefined where the run did not measure what it needs. */
export interface Goal {
  name: string;
  atLeast?: number;
  atMost?: number;
  value?: number | undefined;
  unit?: string;
}

/** @param fsyncMs median time of the disk's fsync; undefined when it was not measured */
export function goalsOf(summaries: readonly Summary[], fsyncMs: number | undefined): Goal[] {
  const at = (subject: SubjectName, connections: number): Summary | undefined =>
    summaries.find(
      ({ setting }) =>
        setting.part === 'connections' && setting.subject === subject && setting.connections === connections,
    );
  const cost = (subject: SubjectName, connections: number, role = 'all'): number | undefined =>
    at(subject, connections)?.cpu[role]?.median;
  const stored = (subject: SubjectName): number | undefined => at(subject, 128)?.storedPerSecond.median;
  const half = summaries.find(({ setting }) => setting.halfRate && setting.subject === 'hookbay');
  return [
    {
      name: 'whole cost of a capture at 128 connections, in bare node:http receipts',
      atMost: 5,
      value: ratio(cost('hookbay', 128), cost('node', 128)),
    },
    {
      name: "the API's part of it, in bare Koa receipts",
      atMost: 1.5,
      value: ratio(cost('hookbay', 128, 'api'), cost('koa', 128)),
    },
    { name: "stored a second, over bare Koa's receipts", atLeast: 0.5, value: ratio(stored('hookbay'), stored('koa')) },
    { name: 'stored a second, over the plain pipeline', atLeast: 12, value: ratio(stored('hookbay'), stored('plain')) },
    {
      name: 'cost at 4 connections, over the other checkout',
      atMost: 0.25,
      value: ratio(cost('hookbay', 4), cost('against', 4)),
    },
    {
      name: 'cost at 1 connection, over the other checkout',
      atMost: 0.5,
      value: ratio(cost('hookbay', 1), cost('against', 1)),
    },
    {
      name: "receipt at 1 connection, p50, in the disk's fsyncs",
      atMost: 3,
      value: ratio(at('hookbay', 1)?.p50.median, fsyncMs),
    },
    { name: 'receipt at half of the sustained rate, p99', atMost: 25, value: half?.p99.median, unit: 'ms' },
  ];
}

export function isMet({ value, atLeast = -Infinity, atMost = Infinity }: Goal): boolean | undefined {
  return value === undefined ? undefined : value >= atLeast && value <= atMost;
}

function ratio(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value / base;
}
