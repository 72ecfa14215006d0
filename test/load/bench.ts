/*
 * `npm run bench`: rate, latency and cost of captures beside baselines that run in turn with it, and whether the goals
 * are met. `npm run bench -- --help` names its parts and options. Every process is on this machine; the cost is the CPU
 * time that the operating system accounts for, from the start of a load until everything of it is stored.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { say, step } from '../../src/local/progress.ts';
import { createResources } from '../../src/resources.ts';
import { UserError } from '../../src/user-error.ts';
import { readArguments, USAGE, type Options } from './bench/arguments.ts';
import { readConditions, type Conditions } from './bench/conditions.ts';
import { measureFsync } from './bench/fsync.ts';
import { goalsOf, isMet } from './bench/goals.ts';
import { estimateSeconds, settingsOf } from './bench/plan.ts';
import { conditionLines, goalTable, tableOf } from './bench/report.ts';
import { summarize, type Measurement } from './bench/results.ts';
import { runPart } from './bench/run.ts';
import { labelOf } from './bench/setting.ts';
import { spreadOf } from '../support/statistics.ts';
import { startGenerator } from './generator/generator.ts';
import { openBare } from './subjects/bare.ts';
import { openHookbay } from './subjects/hookbay.ts';
import { openPlain } from './subjects/plain.ts';
import { LABELS, type Subject, type SubjectName } from './subjects/subject.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Servers that are being started have to be stopped, too. */
let opening: Promise<unknown> = Promise.resolve();
let closing: Promise<void> | undefined;
const resources = createResources((error) => process.stderr.write(`closing: ${String(error)}\n`));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void stop(130));
try {
  await main(process.argv.slice(2));
  await close();
} catch (error) {
  process.stderr.write(`${error instanceof UserError ? error.message : String((error as Error).stack)}\n`);
  await stop(1);
}

async function main(args: string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) return say(USAGE);
  const options = readArguments(args);
  if (process.platform !== 'linux') throw new UserError('The benchmark needs Linux: it reads CPU times from /proc.');
  const seconds = options.parts.reduce((sum, part) => sum + estimateSeconds(part, options), 20);
  say(`${options.parts.join(', ')}: about ${Math.ceil(seconds / 60)} min`);
  const file = resolve(options.json ?? join(tmpdir(), `hookbay-bench-${Date.now()}.json`));
  // A file that cannot be written has to be known before the run.
  writeFileSync(file, '');
  resources.add(file, (path) => void (statSync(path).size === 0 && rmSync(path)));
  const dataDir = mkdtempSync(join(resolve(options.data ?? tmpdir()), 'hookbay-bench-'));
  resources.add(dataDir, (folder) => rmSync(folder, { recursive: true, force: true }));
  const subjects = await (opening = openSubjects(options, dataDir));
  const generator = resources.add(startGenerator(), (one) => one.stop());
  const about = [...subjects.values()].map((subject) => [LABELS[subject.name], subject.about]);
  const conditions = readConditions(dataDir, Object.fromEntries(about));
  const measurements: Measurement[] = [];
  const beforeRound = (): void => void conditions.fsyncMs.push(measureFsync(dataDir));
  const run = {
    options,
    subjects,
    generator,
    measurements,
    resources,
    endpoints: new Map<SubjectName, number>(),
    beforeRound,
  };
  const failures: string[] = [];
  for (const part of options.parts) {
    await runPart(part, run).catch((error: unknown) => failures.push(`${part} was not finished: ${String(error)}`));
    if (closing !== undefined) return;
  }
  conditions.loadAtEnd = loadavg();
  report({ options, conditions, measurements, failures, file });
}

interface Run {
  options: Options;
  conditions: Conditions;
  measurements: Measurement[];
  /** Parts that were not finished. */
  failures: string[];
  /** Where the results go. */
  file: string;
}

function report({ options, conditions, measurements, failures, file }: Run): void {
  const summaries = summarize(measurements);
  const goals = goalsOf(summaries, spreadOf(conditions.fsyncMs).median);
  say(`\n${conditionLines(conditions)}\n${options.rounds} rounds, loads of ${options.seconds} s; medians (and ranges)`);
  for (const part of options.parts)
    say(`\n${part}\n${tableOf(summaries.filter(({ setting }) => setting.part === part))}`);
  if (goals.some(({ value }) => value !== undefined)) say(`\n${goalTable(goals)}`);
  const problems = [
    ...failures,
    ...measurements.flatMap((one) => one.problems.map((why) => `${labelOf(one)}: ${why}`)),
  ];
  const results = { conditions, options, problems, goals: goals.map((goal) => ({ ...goal, met: isMet(goal) })) };
  writeFileSync(file, `${JSON.stringify({ ...results, summaries, measurements }, undefined, 2)}\n`);
  say(`\nResults: ${file}`);
  if (problems.length === 0)
    return say('After each load the books balanced: receipts = rows = request_count = dailyRequests.');
  say(`\nPROBLEMS: the run does not count\n${problems.join('\n')}`);
  process.exitCode = 1;
}

/** The subjects of the chosen parts, each with servers of its own. */
async function openSubjects(options: Options, dataDir: string): Promise<Map<SubjectName, Subject>> {
  const names = new Set(options.parts.flatMap((part) => settingsOf(part, options)).map(({ subject }) => subject));
  const subjects = new Map<SubjectName, Subject>();
  await step('Starting databases and Redis', async () => {
    for (const name of names) {
      if (closing !== undefined) return;
      const folder = join(dataDir, name);
      mkdirSync(folder);
      subjects.set(
        name,
        resources.add(await openSubject(name, options, folder), (subject) => subject.close()),
      );
    }
  });
  return subjects;
}

function openSubject(name: SubjectName, { against = '' }: Options, folder: string): Promise<Subject> {
  switch (name) {
    case 'node':
    case 'koa':
      return Promise.resolve(openBare(name));
    case 'plain':
      return openPlain(folder);
    case 'hookbay':
      return openHookbay(name, ROOT, folder);
    case 'against':
      return openHookbay(name, resolve(against), folder);
  }
}

async function stop(code: number): Promise<never> {
  await close();
  process.exit(code);
}

/** Once, also when the run is interrupted and then ends. */
function close(): Promise<void> {
  closing ??= opening.catch(() => {}).then(() => resources.close());
  return closing;
}
