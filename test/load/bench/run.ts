import { say, step } from '../../../src/local/progress.ts';
import { createResources, type Resources } from '../../../src/resources.ts';
import type { Generator } from '../generator/generator.ts';
import type { LoadOptions } from '../generator/load.ts';
import type { Running, Subject, SubjectName } from '../subjects/subject.ts';
import type { Options } from './arguments.ts';
import { heat, measure, type Figures } from './measure.ts';
import { heatLoads, settingsOf } from './plan.ts';
import { number } from './report.ts';
import type { Measurement } from './results.ts';
import { labelOf, USUAL, type Part, type Setting } from './setting.ts';
import { spreadOf } from '../../support/statistics.ts';

export interface RunOptions {
  options: Options;
  subjects: ReadonlyMap<SubjectName, Subject>;
  generator: Generator;
  /** Number of endpoints that each subject has seen. */
  endpoints: Map<SubjectName, number>;
  measurements: Measurement[];
  /** Closed when the whole run ends, or is interrupted. */
  resources: Resources;
  /** Called before each round. */
  beforeRound: () => void;
}

type Started = Map<SubjectName, Running>;

/** Measures all settings of a part, in rounds; subjects take turns, and each round starts with another one. */
export async function runPart(part: Part, run: RunOptions): Promise<void> {
  const byProcesses = Map.groupBy(settingsOf(part, run.options), ({ processes }) => processes);
  for (let round = 1; round <= run.options.rounds; round += 1) {
    run.beforeRound();
    for (const [processes, settings] of byProcesses) {
      const resources = run.resources.add(
        createResources((error) => say(`stopping: ${String(error)}`)),
        (started) => started.close(),
      );
      try {
        const text = `${part}, round ${round} of ${run.options.rounds}: starting ${processesText(processes)}`;
        const names = new Set(settings.map(({ subject }) => subject));
        const running = await step(text, () => startAll(names, processes, run, resources));
        for (const setting of inTurn(settings, round))
          run.measurements.push({ round, ...setting, ...(await measureOne(setting, running, run)) });
      } finally {
        await resources.close();
      }
    }
  }
}

async function startAll(
  names: Iterable<SubjectName>,
  processes: number,
  run: RunOptions,
  resources: Resources,
): Promise<Started> {
  const running: Started = new Map();
  for (const name of names) {
    const started = resources.add(await subjectOf(run, name).start(processes), (one) => one.stop());
    running.set(name, started);
    const to = await target(run, name, started, 1);
    for (const load of heatLoads(name)) await heat(started, run.generator, { ...USUAL, ...to, ...load });
  }
  return running;
}

async function measureOne(setting: Setting, running: Started, run: RunOptions): Promise<Figures> {
  const { subject, endpoints } = setting;
  const one = running.get(subject) as Running;
  const load: LoadOptions = {
    ...setting,
    ...(await target(run, subject, one, endpoints)),
    seconds: run.options.seconds,
    rate: setting.halfRate ? sustainedRate(setting, run.measurements) / 2 : undefined,
  };
  const figures = await step(labelOf(setting), () => measure(one, run.generator, load));
  const { receiptsPerSecond, storedPerSecond, latency, cpu } = figures;
  const stored = one.books === undefined ? '' : `${number(storedPerSecond)} stored/s, `;
  say(
    `  ${number(receiptsPerSecond)} receipts/s, ${stored}p50 ${number(latency.p50)} ms, p99 ${number(latency.p99)} ms, ` +
      `${number(cpu['all'])} µs of CPU each`,
  );
  for (const problem of figures.problems) say(`  ${problem}`);
  return figures;
}

/** Where a load goes. New endpoints get one capture each, because their first one is looked up in the database. */
async function target(
  run: RunOptions,
  name: SubjectName,
  running: Running,
  endpoints: number,
): Promise<Pick<LoadOptions, 'ports' | 'paths'>> {
  const { ports } = running;
  const paths = await subjectOf(run, name).paths(endpoints);
  const known = run.endpoints.get(name) ?? 0;
  if (endpoints > known && endpoints > 1) {
    const fresh = paths.slice(known);
    const load = { ...USUAL, connections: 256, ports, paths: fresh, inTurn: true, amount: fresh.length };
    await step(`One capture to each of ${fresh.length} new endpoints`, () => heat(running, run.generator, load));
  }
  run.endpoints.set(name, Math.max(known, endpoints));
  return { ports, paths };
}

function subjectOf({ subjects }: RunOptions, name: SubjectName): Subject {
  return subjects.get(name) as Subject;
}

/** Settings of one shape are neighbours; each round starts with another subject. */
export function inTurn(settings: readonly Setting[], round: number): Setting[] {
  const shapes = Map.groupBy(settings, (one) => JSON.stringify({ ...one, subject: '' }));
  return [...shapes.values()].flatMap((group) => {
    const first = round % group.length;
    return [...group.slice(first), ...group.slice(0, first)];
  });
}

function sustainedRate({ part, subject, connections }: Setting, known: readonly Measurement[]): number {
  const rates = known
    .filter((one) => one.part === part && one.subject === subject && one.connections === connections && !one.halfRate)
    .map(({ storedPerSecond }) => storedPerSecond);
  return spreadOf(rates).median;
}

function processesText(count: number): string {
  return count === 1 ? 'the processes' : `${count} processes of each kind`;
}
