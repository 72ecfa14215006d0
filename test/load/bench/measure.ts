import { setTimeout as sleep } from 'node:timers/promises';
import type { Generator } from '../generator/generator.ts';
import type { LoadOptions, LoadResult } from '../generator/load.ts';
import type { Running, Work } from '../subjects/subject.ts';
import { cpuOf } from './cpu.ts';
import { WARM_UP_SECONDS } from './plan.ts';

/** What one load has shown. */
export interface Figures {
  receipts: number;
  receiptsPerSecond: number;
  /** Until the last row was stored; of a subject that stores nothing, the same as the above. */
  storedPerSecond: number;
  /** Captures that were not stored when the last receipt had come, and how long they took from then. */
  backlog: number;
  drainMs: number;
  /** In milliseconds. */
  latency: LoadResult['latency'];
  /** CPU time of a capture in microseconds, by what processes do, and in all. */
  cpu: Record<string, number>;
  /** CPU time of the generator a request, and the part of a core that it took. */
  generatorCpu: number;
  generatorShare: number;
  capturesPerBatch: number;
  /** What Redis read from sockets, over captures; the same for statements of the database. */
  redisReadsPerBatch: number;
  statementsPerTransaction: number;
  /** Why it does not count: answers other than receipts, and books that do not balance. */
  problems: string[];
}

const POLL_MS = 20;
const DRAIN_TIMEOUT_MS = 180_000;

/** What follows the commit (finished jobs, events) belongs to the cost. */
const SETTLE_MS = 150;

const NO_WORK: Work = { batches: Number.NaN, transactions: Number.NaN, redisReads: Number.NaN, statements: Number.NaN };

/** Warms up, measures one load until everything of it is stored, and checks the books. */
export async function measure(running: Running, generator: Generator, load: LoadOptions): Promise<Figures> {
  await loadAndDrain(running, generator, { ...load, seconds: WARM_UP_SECONDS });
  const { books } = running;
  await sleep(SETTLE_MS);
  const before = { totals: await books?.totals(), work: (await books?.work()) ?? NO_WORK, cpu: cpuByRole(running) };
  const { result, backlog, drainMs } = await loadAndDrain(running, generator, load);
  await sleep(SETTLE_MS);
  const cpu = cpuByRole(running);
  const work = (await books?.work()) ?? NO_WORK;
  const others = Object.values(result.others).reduce((sum, count) => sum + count, 0);
  const problems = [
    ...Object.entries(result.others).map(([answer, count]) => `${count} × ${answer} instead of a receipt`),
    ...imbalances(before.totals ?? {}, (await books?.totals()) ?? {}, result.receipts, others),
  ];
  await books?.clear();
  const { receipts, seconds, latency } = result;
  const grown = (key: keyof Work): number => work[key] - before.work[key];
  const costs = Object.entries(cpu).map(([role, used]) => [role, (used - (before.cpu[role] ?? 0)) / receipts] as const);
  return {
    receipts,
    receiptsPerSecond: receipts / seconds,
    storedPerSecond: receipts / (seconds + drainMs / 1000),
    backlog,
    drainMs,
    latency,
    cpu: { ...Object.fromEntries(costs), all: costs.reduce((sum, [, cost]) => sum + cost, 0) },
    generatorCpu: result.cpu / receipts,
    generatorShare: result.cpu / 1e6 / seconds,
    capturesPerBatch: receipts / grown('batches'),
    redisReadsPerBatch: grown('redisReads') / grown('batches'),
    statementsPerTransaction: grown('statements') / grown('transactions'),
    problems,
  };
}

/** Sends a load that is not measured, and removes what it left. */
export async function heat(running: Running, generator: Generator, load: LoadOptions): Promise<void> {
  await loadAndDrain(running, generator, load);
  await running.books?.clear();
}

async function loadAndDrain(
  { books }: Running,
  generator: Generator,
  load: LoadOptions,
): Promise<{ result: LoadResult; backlog: number; drainMs: number }> {
  const storedBefore = (await books?.stored()) ?? 0;
  const result = await generator.run(load);
  const end = performance.now();
  if (books === undefined) return { result, backlog: 0, drainMs: 0 };
  const missing = async (): Promise<number> => storedBefore + result.receipts - (await books.stored());
  const backlog = await missing();
  await untilNone(missing, backlog);
  return { result, backlog: Math.max(0, backlog), drainMs: backlog <= 0 ? 0 : performance.now() - end };
}

async function untilNone(missing: () => Promise<number>, first: number): Promise<void> {
  const deadline = performance.now() + DRAIN_TIMEOUT_MS;
  for (let left = first; left > 0; left = await missing()) {
    if (performance.now() > deadline) throw new Error(`${left} captures were not stored in ${DRAIN_TIMEOUT_MS} ms`);
    await sleep(POLL_MS);
  }
}

function cpuByRole({ pids }: Running): Record<string, number> {
  return Object.fromEntries(Object.entries(pids).map(([role, ids]) => [role, cpuOf(ids)]));
}

/** Receipts = rows = request_count = dailyRequests; what got no receipt may be stored all the same. */
export function imbalances(
  before: Record<string, number>,
  after: Record<string, number>,
  receipts: number,
  others = 0,
): string[] {
  return Object.entries(after)
    .map(([name, total]) => ({ name, grown: total - (before[name] ?? 0) }))
    .filter(({ grown }) => grown < receipts || grown > receipts + others)
    .map(({ name, grown }) => `THE BOOKS DO NOT BALANCE: ${receipts} receipts, and ${name} grew by ${grown}`);
}
