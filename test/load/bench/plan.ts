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

/** Before each measurement, at its own setting. */
export const WARM_UP_SECONDS = 0.5;

/**
 * Loads for each start of a process, until its code is compiled; what a batch costs is compiled later than what a
 * request costs. In the first 2 s a capture costs twice what it costs after 6 s.
 */
export function heatLoads(subject: SubjectName): { connections: number; seconds: number }[] {
  if (isBare(subject)) return [{ connections: 64, seconds: 1.5 }];
  return [
    { connections: 64, seconds: 4 },
    { connections: 4, seconds: 3 },
  ];
}

function isBare(subject: SubjectName): boolean {
  return subject === 'node' || subject === 'koa';
}

/** About how long things take on two cores; the plain pipeline falls behind, and its backlog has to be stored. */
const SECONDS = { startBare: 0.3, start: 2.5, settle: 0.7, prepareEndpoints: 30 };
const PLAIN_FACTOR = 2;

/** About how long a part takes. */
export function estimateSeconds(part: Part, options: Options): number {
  const settings = settingsOf(part, options);
  const loads = settings.map(
    ({ subject }) => (options.seconds + WARM_UP_SECONDS) * (subject === 'plain' ? PLAIN_FACTOR : 1) + SECONDS.settle,
  );
  const started = new Map(settings.map(({ subject, processes }) => [`${subject} ${processes}`, subject]));
  const starts = [...started.values()].map((subject) =>
    heatLoads(subject).reduce((sum, { seconds }) => sum + seconds, isBare(subject) ? SECONDS.startBare : SECONDS.start),
  );
  const round = [...loads, ...starts].reduce((sum, seconds) => sum + seconds, 0);
  const prepared =
    part === 'endpoints' ? SECONDS.prepareEndpoints * new Set(settings.map((one) => one.subject)).size : 0;
  return options.rounds * round + prepared;
}
