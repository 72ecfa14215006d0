import { accessSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { UserError } from '../../../src/user-error.ts';
import type { SubjectName } from '../subjects/subject.ts';
import { PARTS, type Part } from './setting.ts';

export interface Options {
  parts: Part[];
  rounds: number;
  /** Length of one load. */
  seconds: number;
  connections: number[];
  subjects: SubjectName[];
  /** Another checkout to compare with. */
  against?: string | undefined;
  /** File for the results; by default a new one in the temporary folder. */
  json?: string | undefined;
  /** Folder for the stores' data; by default the temporary folder. */
  data?: string | undefined;
}

const SUBJECTS = ['node', 'koa', 'plain', 'hookbay'] as const;

/** Those that the goals speak of. */
const GOAL_CONNECTIONS = [1, 4, 128];

export const USAGE = `usage: npm run bench -- [part …] [option …]

parts (all by default):
  connections      rate, latency and cost by number of connections, beside the baselines
  new-connections  a new connection for each request
  sizes            bodies of 0.1, 1, 16 and 256 KiB
  endpoints        1, 100, 10,000 and 100,000 endpoints and users
  processes        1, 2 and 4 API and worker processes
  latency          at half of the sustained rate
  goals            what the goals need: some of the connections, and the latency

options:
  --rounds <n>           how often each measurement is repeated (3)
  --seconds <n>          length of each load (3)
  --connections <n,…>    1,4,16,64,128,256 by default; of the part of this name
  --subjects <name,…>    ${SUBJECTS.join(',')} by default; of the part "connections"
  --against <folder>     another checkout of Hookbay, with its node_modules, to compare with in alternating rounds
  --json <file>          where the results go (a new file in the temporary folder)
  --data <folder>        where the databases are (the temporary folder)`;

/** @throws UserError that says what is possible */
export function readArguments(args: string[]): Options {
  const { values, positionals } = parse(args);
  const words = new Set(positionals);
  for (const word of words) {
    if (word !== 'goals' && !PARTS.some((part) => part === word)) throw refusal(`There is no part "${word}"`);
  }
  const wanted = (part: Part): boolean => words.size === 0 || words.has(part);
  const forGoals = words.has('goals') && !words.has('connections');
  return {
    parts: PARTS.filter((part) => wanted(part) || (words.has('goals') && /^(connections|latency)$/.test(part))),
    rounds: wholeNumber('rounds', values.rounds, 100),
    seconds: wholeNumber('seconds', values.seconds, 3_600),
    connections:
      values.connections === undefined && forGoals
        ? GOAL_CONNECTIONS
        : (values.connections ?? '1,4,16,64,128,256').split(',').map((text) => wholeNumber('connections', text, 4_096)),
    subjects: values.subjects === undefined ? [...SUBJECTS] : values.subjects.split(',').map(subject),
    against: values.against && folderWith('against', values.against, 'src/main.ts', 'node_modules'),
    json: values.json,
    data: values.data && folderWith('data', values.data),
  };
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  const number = { type: 'string', default: '3' } as const;
  const options = {
    rounds: number,
    seconds: number,
    connections: text,
    subjects: text,
    against: text,
    json: text,
    data: text,
  };
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw refusal((error as Error).message);
  }
}

function subject(name: string): SubjectName {
  const known = SUBJECTS.find((one) => one === name);
  if (known === undefined) throw refusal(`There is no subject "${name}"`);
  return known;
}

/** @throws UserError when the folder has no such files */
function folderWith(option: string, folder: string, ...files: string[]): string {
  try {
    for (const file of ['.', ...files]) accessSync(join(folder, file));
    return folder;
  } catch (error) {
    throw refusal(`--${option}: ${(error as Error).message}`);
  }
}

function wholeNumber(option: string, text: string, max: number): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > max)
    throw refusal(`--${option} takes whole numbers from 1 to ${max}, not "${text}"`);
  return number;
}

function refusal(why: string): UserError {
  return new UserError(`${why}.\n\n${USAGE}`);
}
