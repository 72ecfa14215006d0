/*
 * `npm run bench:growth`: what each request costs with 10,000, 1,000,000 and 5,000,000 stored entries, of one endpoint
 * and of 1,000. Each number of entries has an installation of its own (API, worker, MariaDB, Redis), and they take
 * turns. Writes `bench-growth.json`. The entries take about 2.2 KB of disk each.
 *
 *   npm run bench:growth -- [entries,…, 10000,1000000,5000000] [endpoints,…, 1,1000] [rounds, 5]
 */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { say, step } from '../../src/local/progress.ts';
import { install, type Cpu, type Installation } from './growth/installation.ts';
import { CAPTURE, DELETE_ENDPOINT, OPERATIONS, PURGE, type Operation } from './growth/operations.ts';
import { BODY_BYTES, readSoFar } from './growth/rows.ts';
import { percentile } from '../support/statistics.ts';

const FLAT = 1.3;
const WARM_UP = 5;

const [sizes = [10_000, 1_000_000, 5_000_000], spreads = [1, 1_000], [rounds = 5] = []] = process.argv
  .slice(2)
  .map((list) => list.split(',').map(Number));

/** A round of an operation: each request's time, and the CPU of all of them. */
interface Round {
  times: number[];
  units: number;
  cpu: Cpu;
  /** What the database read. */
  rows: number;
  pages: number;
}

const conditions = {
  cores: cpus().length,
  node: process.version,
  bodyBytes: BODY_BYTES,
  bufferPoolBytes: 256 * 2 ** 20,
  rounds,
  started: new Date().toISOString(),
};
say(
  `Conditions: ${conditions.cores} cores, Node ${conditions.node}; API, worker, MariaDB (buffer pool 256 MB) and Redis ` +
    `(appendfsync always) of each installation on one machine; ${BODY_BYTES}-byte bodies with a GitHub delivery's ` +
    `headers; requests one after another, ${rounds} rounds in turn, medians (least to most of the rounds)`,
);
const results: object[] = [];
for (const endpoints of spreads) {
  const installations: Installation[] = [];
  for (const size of sizes) installations.push(await install(size, endpoints, rounds));
  say(`\nEntries of ${endpoints} endpoint${endpoints === 1 ? '' : 's'}`);
  for (const operation of OPERATIONS) await measure(operation, installations, rounds, endpoints);
  await measure(DELETE_ENDPOINT, installations, Math.min(endpoints, rounds), endpoints);
  // Sweeps that deletes ask for have removed those of small endpoints by now.
  if (endpoints === 1) await measure(PURGE, installations, 1, endpoints);
  await step('Removing the installations', () => Promise.all(installations.map(({ remove }) => remove())));
}
writeFileSync('bench-growth.json', `${JSON.stringify({ conditions, results }, null, 2)}\n`);

async function measure(operation: Operation, installations: Installation[], count: number, endpoints: number) {
  const measured = installations.map((): Round[] => []);
  // Beyond the turns of the rounds, because what is deleted is deleted once.
  if (operation.times > 1)
    for (const on of installations) await runRound({ ...operation, times: WARM_UP }, on, count * operation.times);
  for (let round = 0; round < count; round += 1)
    for (let i = 0; i < installations.length; i += 1) {
      const turn = (i + round) % installations.length;
      measured[turn]?.push(await runRound(operation, installations[turn] as Installation, round * operation.times));
    }
  let base: Record<string, number> | undefined;
  for (const [i, rounds] of measured.entries()) {
    const name = (installations[i] as Installation).name;
    const { text, values } = summarize(rounds);
    base ??= values;
    const ratios = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, value / (base?.[key] || value)]),
    );
    const flat = Math.max(ratios['cpu'] ?? 0, ratios['p50'] ?? 0) <= FLAT;
    say(
      `${operation.name.padEnd(41)} ${name.padEnd(16)} ${text}` +
        (i === 0
          ? ''
          : `  ratio CPU ${ratios['cpu']?.toFixed(2)}, p50 ${ratios['p50']?.toFixed(2)}${flat ? '' : ' !'}`),
    );
    results.push({ operation: operation.name, endpoints, entries: sizes[i], ...values, ratios });
  }
}

async function runRound({ name, times, run }: Operation, on: Installation, firstTurn: number): Promise<Round> {
  const { pool } = on.environment.db;
  const readBefore = await readSoFar(pool);
  const before = on.cpu();
  const took: number[] = [];
  let units = 0;
  for (let i = 0; i < times; i += 1) {
    const start = performance.now();
    units += await run(on, firstTurn + i);
    took.push(performance.now() - start);
  }
  if (name === CAPTURE.name) await on.environment.drained();
  const after = on.cpu();
  const { rows, pages } = await readSoFar(pool);
  const parts = Object.entries(after).map(([part, ms]) => [part, ms - before[part as keyof Cpu]]);
  return {
    times: took,
    units,
    cpu: Object.fromEntries(parts) as unknown as Cpu,
    rows: rows - readBefore.rows,
    pages: pages - readBefore.pages,
  };
}

/** Microseconds of CPU a unit, and milliseconds a request. */
function summarize(rounds: Round[]): { text: string; values: Record<string, number> } {
  const units = rounds.reduce((sum, round) => sum + round.units, 0);
  const totalOf = ({ cpu }: Round): number => Object.values(cpu).reduce((sum: number, ms: number) => sum + ms, 0);
  const each = rounds.map((round) => (1_000 * totalOf(round)) / round.units);
  const mean = (of: (round: Round) => number): number => rounds.reduce((sum, round) => sum + of(round), 0) / units;
  const part = (name: keyof Cpu): number => 1_000 * mean(({ cpu }) => cpu[name]);
  const times = rounds.flatMap((round) => round.times);
  const medians = rounds.map((round) => percentile(round.times, 0.5));
  const values = {
    cpu: percentile(each, 0.5),
    cpuLeast: Math.min(...each),
    cpuMost: Math.max(...each),
    api: part('api'),
    worker: part('worker'),
    database: part('database'),
    redis: part('redis'),
    rows: mean(({ rows }) => rows),
    pages: mean(({ pages }) => pages),
    p50: percentile(medians, 0.5),
    p50Least: Math.min(...medians),
    p50Most: Math.max(...medians),
    p95: percentile(times, 0.95),
  };
  const range = (least: number, most: number, digits: number): string =>
    `(${least.toFixed(digits)}–${most.toFixed(digits)})`;
  const text =
    `CPU ${values.cpu.toFixed(0).padStart(6)} µs ${range(values.cpuLeast, values.cpuMost, 0)}, ` +
    `API ${values.api.toFixed(0)} worker ${values.worker.toFixed(0)} database ${values.database.toFixed(0)}, ` +
    `${values.rows.toFixed(1)} rows, ${values.pages.toFixed(1)} pages, ` +
    `p50 ${values.p50.toFixed(2)} ms ${range(values.p50Least, values.p50Most, 2)}, p95 ${values.p95.toFixed(2)} ms`;
  return { text, values };
}
