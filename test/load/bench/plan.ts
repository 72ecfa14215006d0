import type { SubjectName } from '../subjects/subject.ts';
import type { Options } from './arguments.ts';
import { USUAL, type Part, type Setting } from './setting.ts';

/** It falls behind, so that each measurement takes long: some levels are enough. */
const PLAIN_CONNECTIONS = [1, 16, 128];

const BUSY = 128;

/** A body of 256 KiB is flushed alone: more connections than these would wait too long on a small machine. */
const SIZES_CONNECTIONS = 16;
const SIZES = [102, 1_024, 16_384, 262_144];
const ENDPOINTS = [1, 100, 10_000, 100_000];
const PROCESSES = [1, 2, 4];

/** The measurements of one round of a part, in order. */
export function settingsOf(part: Part, options: Options): Setting[] {
  const ours: SubjectName[] = options.against === undefined ? ['hookbay'] : ['hookbay', 'against'];
  const of = (subjects: readonly SubjectName[], change: Partial<Setting>): Setting[] =>
    subjects.map((subject) => ({ part, subject, ...USUAL, halfRate: false, ...change }));
  switch (part) {
    case 'connections': {
      const subjects = options.subjects.flatMap((name) => (name === 'hookbay' ? ours : [name]));
      return options.connections.flatMap((connections) =>
        of(
          subjects.filter((name) => name !== 'plain' || options.connections.length === 1 || isPlainAt(connections)),
          { connections },
        ),
      );
    }
    case 'new-connections':
      return [false, true].flatMap((newConnections) => of(['node', 'koa', ...ours], { newConnections }));
    case 'sizes':
      return SIZES.flatMap((bodyBytes) => of(ours, { bodyBytes, connections: SIZES_CONNECTIONS }));
    case 'endpoints':
      return ENDPOINTS.flatMap((endpoints) => of(ours, { endpoints }));
    case 'processes':
      return PROCESSES.flatMap((processes) => of(ours, { processes, connections: BUSY }));
    case 'latency':
      return [false, true].flatMap((halfRate) => of(ours, { halfRate, connections: BUSY }));
  }
}

function isPlainAt(connections: number): boolean {
  return PLAIN_CONNECTIONS.includes(connections);
}

export const WARM_UP_SECONDS = 1;

/** Once for each start of a process, until its code is compiled. */
export const HEAT_SECONDS = 2;

const START_SECONDS = 2.5;
const PREPARE_SECONDS = 30;

/** About how long a part takes; the plain pipeline needs several times the load's length until its backlog is stored. */
export function estimateSeconds(part: Part, options: Options): number {
  const settings = settingsOf(part, options);
  const each = ({ subject }: Setting): number =>
    (options.seconds + WARM_UP_SECONDS) * (subject === 'plain' ? 3 : 1) + 0.7;
  const starts = new Set(settings.map(({ subject, processes }) => `${subject} ${processes}`)).size;
  const round = settings.reduce((sum, setting) => sum + each(setting), 0) + starts * (START_SECONDS + HEAT_SECONDS);
  return options.rounds * round + (part === 'endpoints' ? 2 * PREPARE_SECONDS : 0);
}
