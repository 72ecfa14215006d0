import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAlive } from '../../src/local/processes.ts';
import { closing, eventually } from '../support/environment.ts';

const SHORT = ['connections', '--connections', '4', '--rounds', '1', '--seconds', '1'];

/** Runs the benchmark with a temporary folder of its own. */
function bench(args: string[]) {
  const folder = closing(mkdtempSync(join(tmpdir(), 'hb-')), (path) => rmSync(path, { recursive: true, force: true }));
  const child = spawn(process.execPath, ['test/load/bench.ts', ...args], { env: { ...process.env, TMPDIR: folder } });
  closing(child, (one) => void one.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exit = new Promise<number | string | null>((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? signal));
  });
  return { child, folder, exit, output: () => output };
}

test('the benchmark measures every subject, and the books balance', async () => {
  const run = bench(SHORT);
  const code = await run.exit;
  const [file, ...others] = readdirSync(run.folder);
  expect(others).toEqual([]);
  const { conditions, measurements, problems } = JSON.parse(readFileSync(join(run.folder, file as string), 'utf8')) as {
    conditions: { fsyncMs: number[] };
    measurements: { subject: string; receipts: number; cpu: Record<string, number> }[];
    problems: string[];
  };
  // A machine that is too busy refuses captures, and then the run does not count.
  expect(problems.filter((problem) => !problem.includes('503'))).toEqual([]);
  expect(code).toBe(problems.length === 0 ? 0 : 1);
  expect(conditions.fsyncMs[0]).toBeGreaterThan(0);
  const costs = Object.fromEntries(measurements.map(({ subject, cpu }) => [subject, Object.keys(cpu)]));
  const stored = ['api', 'worker', 'redis', 'database', 'all'];
  expect(costs).toEqual({ node: ['api', 'all'], koa: ['api', 'all'], plain: stored, hookbay: stored });
  for (const { receipts, cpu } of measurements) {
    expect(receipts).toBeGreaterThan(0);
    expect(cpu['all']).toBeGreaterThan(0);
  }
});

test('an interrupted benchmark stops its servers and removes its data', async () => {
  const run = bench([...SHORT, '--seconds', '60', '--subjects', 'hookbay']);
  await eventually(() => run.output().includes('Hookbay, 4 connections'));
  const [known = ''] = globSync('hookbay-bench-*/hookbay/processes.json', { cwd: run.folder });
  const servers = JSON.parse(readFileSync(join(run.folder, known), 'utf8')) as { name: string; pid: number }[];
  expect(servers.map(({ name }) => name)).toEqual(['launcher', 'mysql', 'redis']);
  run.child.kill('SIGINT');
  expect(await run.exit, run.output()).toBe(130);
  expect(readdirSync(run.folder)).toEqual([]);
  await eventually(() => servers.every(({ pid }) => !isAlive(pid)));
});

test('a benchmark that cannot run says what is possible', async () => {
  const run = bench(['everything']);
  expect(await run.exit).toBe(1);
  expect(run.output()).toMatch(/^There is no part "everything"\.\n\nusage: npm run bench/);
  expect(readdirSync(run.folder)).toEqual([]);
});
