import { LABELS } from '../subjects/subject.ts';
import type { Conditions } from './conditions.ts';
import { isMet, type Goal } from './goals.ts';
import type { Summary } from './results.ts';
import { shapeOf } from './setting.ts';
import { spreadOf, type Spread } from '../../support/statistics.ts';

const RATES = ['receipts/s', 'stored/s', 'p50 ms', 'p99 ms'];
const COSTS = ['API µs', 'worker', 'Redis', 'database', 'all µs', 'batch', 'reads', 'statements', 'generator'];

/** One line for each setting: medians, and in brackets the smallest and largest of all rounds. */
export function tableOf(summaries: readonly Summary[]): string {
  return alignColumns([['', '', ...RATES, ...COSTS], ...summaries.map(rowOf)]);
}

function rowOf(summary: Summary): string[] {
  const { setting, cpu, receiptsPerSecond, storedPerSecond, p50, p99, generatorShare } = summary;
  const { capturesPerBatch, redisReadsPerBatch, statementsPerTransaction } = summary;
  const microseconds = (role: string): string => number(cpu[role]?.median);
  return [
    shapeOf(setting),
    LABELS[setting.subject],
    withSpread(receiptsPerSecond),
    cpu['database'] === undefined ? '' : withSpread(storedPerSecond),
    number(p50.median),
    number(p99.median),
    ...['api', 'worker', 'redis', 'database'].map(microseconds),
    cpu['all'] === undefined ? '' : withSpread(cpu['all']),
    ...[capturesPerBatch, redisReadsPerBatch, statementsPerTransaction].map(({ median }) => number(median)),
    `${Math.round(generatorShare.median * 100)} %`,
  ];
}

export function goalTable(goals: readonly Goal[]): string {
  const rows = goals.map((goal) => {
    const { name, atLeast, atMost, value, unit } = goal;
    const met = isMet(goal);
    const limit = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
    return [
      name,
      unit === undefined ? limit : `${limit} ${unit}`,
      number(value),
      met === undefined ? 'not measured' : met ? 'met' : 'NOT MET',
    ];
  });
  return alignColumns([['goal', 'limit', 'measured', ''], ...rows]);
}

export function conditionLines(conditions: Conditions): string {
  const { cores, processor, memoryGiB, kernel, node, fileSystem, fsyncMs, loadAtStart, loadAtEnd } = conditions;
  const loads = [loadAtStart, loadAtEnd].map((load) => load?.map((one) => one.toFixed(2)).join(' ') ?? '?');
  return [
    `${cores} cores (${processor}), ${memoryGiB} GiB, Linux ${kernel}, Node ${node}; everything on this machine`,
    `load average ${loads[0]} at the start, ${loads[1]} at the end`,
    ...((loadAtStart[0] ?? 0) > cores / 2
      ? ['OTHER WORK RAN ON THIS MACHINE: captures cost less and are faster without it']
      : []),
    `stores on ${fileSystem}${fsyncMs.length === 0 ? '' : `; an append of 4 KiB with fsync takes ${number(spreadOf(fsyncMs).median)} ms (median)`}`,
    ...Object.entries(conditions.subjects).map(([name, about]) => `${name}: ${about}`),
    'Hookbay with its defaults: look-up, quota (a cap that no run reaches) and live events (no follower)',
  ].join('\n');
}

/** Three digits, or whole numbers above. */
export function number(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '';
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}

function withSpread({ median, min, max }: Spread): string {
  return min === max ? number(median) : `${number(median)} (${number(min)}–${number(max)})`;
}

/** The first two columns to the left, numbers to the right. */
function alignColumns(rows: readonly string[][]): string {
  const widths = (rows[0] as string[]).map((_header, i) => Math.max(...rows.map((row) => (row[i] ?? '').length)));
  return rows
    .map((row) =>
      row.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
    )
    .join('\n');
}
