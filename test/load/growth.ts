/*
 * `npm run bench:growth`: what each request costs with 10,000, 1,000,000 and 5,000,000 stored entries, of one endpoint
 * and of 1,000. Each number of entries has an installation of its own (API, worker, MariaDB, Redis), and they take
 * turns. Writes `bench-growth.json`. The entries take about 2.2 KB of disk each. Those of 10,000 fit in the buffer pool
 * of 256 MB and the others do not, so 10,000 are also measured with one of 8 MB, to tell memory from growth.
 *
 *   npm run bench:growth -- [entries[@MB of buffer pool],…, 10000,10000@8,1000000,5000000] [endpoints,…, 1,1000] [rounds, 5]
 */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { say, step } from '../../src/local/progress.ts';
import { install, type Cpu, type Installation, type Size } from './growth/installation.ts';
import { CAPTURE, DELETE_ENDPOINT, OPERATIONS, PURGE, RETENTION, type Operation } from './growth/operations.ts';
import { BODY_BYTES, readSoFar } from './growth/rows.ts';
import { percentile } from '../support/statistics.ts';

const FLAT = 1.3;
const WARM_UP = 5;
const PAGE = 50;
const MAX_ROUNDS = 5;

const [sizesGiven = '10000,10000@8,1000000,5000000', spreadsGiven = '1,1000', rounds = 5] = process.argv.slice(2);
const sizes = sizesGiven.split(',').map((given): Size => {
  const [count, poolMb] = given.split('@').map(Number);
  return { count: count as number, poolMb };
});
const spreads = spreadsGiven.split(',').map(Number);
if (!(Number(rounds) >= 1 && Number(rounds) <= MAX_ROUNDS))
  throw new Error(`rounds must be 1 to ${MAX_ROUNDS}: 10,000 entries are not enough for more`);

/** A round of an operation: milliseconds of each unit, and the CPU of all of them. */
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
  rounds: Number(rounds),
  started: new Date().toISOString(),
};
say(
  `Conditions: ${conditions.cores} cores, Node ${conditions.node}; API, worker, MariaDB (buffer pool 256 MB unless named) and Redis ` +
    `(appendfsync always) of each installation on one machine; ${BODY_BYTES}-byte bodies with a GitHub delivery's ` +
    `headers; requests one after another, ${conditions.rounds} rounds in turn, medians (least to most of the rounds)`,
);
const results: object[] = [];
for (const endpoints of spreads) {
  const installations: Installation[] = [];
  try {
    await compare(endpoints, installations);
  } finally {
    await step('Removing the installations', () => Promise.all(installations.map(({ remove }) => remove())));
  }
}
writeFileSync('bench-growth.json', `${JSON.stringify({ conditions, results }, null, 2)}\n`);

async function compare(endpoints: number, installations: Installation[]): Promise<void> {
  const { rounds } = conditions;
  // Half of what the smallest installation has of each endpoint, so all answers are of the same length.
  const page = Math.min(PAGE, Math.floor(Math.min(...sizes.map(({ count }) => count)) / endpoints / 2));
  for (const size of sizes) installations.push(await install(size, endpoints, rounds + 1, page));
  say(`\nEntries of ${endpoints} endpoint${endpoints === 1 ? '' : 's'}, pages of ${page}`);
  for (const operation of OPERATIONS) {
    // Beyond the turns of the rounds, because what is deleted is deleted once.
    const warmUp = { ...operation, times: WARM_UP };
    for (const on of installations) await runRound(warmUp, on, rounds * operation.times);
    await measure(operation, installations, rounds, endpoints);
  }
  for (const on of installations) await runRound(RETENTION, on, 0);
  await measure(RETENTION, installations, rounds, endpoints);
  if (endpoints === 1) await measure(PURGE, installations, 1, endpoints);
  else await measure(DELETE_ENDPOINT, installations, rounds, endpoints);
}

async function measure(operation: Operation, installations: Installation[], count: number, endpoints: number) {
  const measured = installations.map((): Round[] => []);
  for (let round = 0; round < count; round += 1)
    for (let i = 0; i < installations.length; i += 1) {
      const turn = (i + round) % installations.length;
      measured[turn]?.push(await runRound(operation, installations[turn] as Installation, round * operation.times));
    }
  let base: Record<string, number> | undefined;
  for (const [i, rounds] of measured.entries()) {
    const { name } = installations[i] as Installation;
    const { text, values } = summarize(rounds);
    base ??= values;
    const ratios = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, value / (base?.[key] || value)]),
    );
    const flat = (ratios['cpu'] ?? 0) <= FLAT;
    say(
      `${operation.name.padEnd(40)} ${name.padEnd(19)} ${text}` +
        (i === 0
          ? ''
          : `  ratio CPU ${ratios['cpu']?.toFixed(2)}${flat ? '' : ' !'}, p50 ${ratios['p50']?.toFixed(2)}`),
    );
    results.push({ operation: operation.name, endpoints, ...sizes[i], ...values, ratios });
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
    const done = await run(on, firstTurn + i);
    took.push((performance.now() - start) / done);
    units += done;
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

/** Microseconds of CPU and milliseconds a unit. */
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
