import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '../user-error.ts';

/** Longer than the process's own limit (`SHUTDOWN_TIMEOUT_MS`). */
const STOP_TIMEOUT_MS = 40_000;
const POLL_MS = 50;

/** A process by pid and start time (`born`), because a pid may be reused. */
interface KnownProcess {
  name: string;
  pid: number;
  born: string;
}

export interface ProcessRegistry {
  /** The program gets a process group, so that Ctrl-C only reaches the launcher, which stops it in order. */
  start(
    name: string,
    command: string,
    args: string[],
    options: { env?: NodeJS.ProcessEnv; logFile: string; ipc?: boolean },
  ): ChildProcess;
  /** Removes the record of the launcher; the data directory is free again. */
  release(): void;
}

/** Stops what a killed launcher left. Throws a UserError when another launcher is running on the directory. */
export async function claimDataDir(dataDir: string): Promise<ProcessRegistry> {
  const file = join(dataDir, 'processes.json');
  const left = readKnown(file).filter(({ pid, born }) => startTimeOf(pid) === born);
  const launcher = left.find(({ name }) => name === 'launcher');
  if (launcher !== undefined) {
    throw new UserError(
      `Hookbay is running on ${dataDir} already (process ${launcher.pid}). Stop it, or set another DATA_DIR and PORT.`,
    );
  }
  // Database and Redis last: the others need them until they have stopped.
  for (const { pid } of left.toReversed()) await stopProcess(pid);

  const known: KnownProcess[] = [];
  function record(name: string, pid: number): void {
    known.push({ name, pid, born: startTimeOf(pid) ?? '' });
    writeFileSync(`${file}.new`, JSON.stringify(known), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  record('launcher', process.pid);

  return {
    start(name, command, args, { env, logFile, ipc = false }) {
      const log = openSync(logFile, 'a', 0o600);
      const child = spawn(command, args, {
        detached: true,
        stdio: ipc ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
        ...(env !== undefined && { env }),
      });
      closeSync(log);
      if (child.pid !== undefined) record(name, child.pid);
      return child;
    },
    release: () => rmSync(file, { force: true }),
  };
}

/** Sends SIGTERM to a process, and SIGKILL when it does not exit in time. */
export async function stopProcess(pid: number): Promise<void> {
  if (!signal(pid, 'SIGTERM')) return;
  for (let waited = 0; waited < STOP_TIMEOUT_MS; waited += POLL_MS) {
    if (!isAlive(pid)) return;
    await sleep(POLL_MS);
  }
  signal(pid, 'SIGKILL');
}

/** Whether a pid is a running process, and not one that has exited and waits for its parent (a zombie). */
export function isAlive(pid: number): boolean {
  if (!signal(pid, 0)) return false;
  const state = statOf(pid)?.[0];
  return state === undefined ? process.platform !== 'linux' : !'ZX'.includes(state);
}

/** The fields of proc_pid_stat(5) from the third on; the second may contain spaces and brackets. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

export function parentOf(pid: number): number | undefined {
  const field = statOf(pid)?.[1];
  return field === undefined ? undefined : Number(field);
}

/** The start time of a process, in the format of the system; undefined when there is no such process. */
function startTimeOf(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined;
  try {
    if (process.platform !== 'linux')
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return statOf(pid)?.[19];
  } catch {
    return undefined;
  }
}

function readKnown(file: string): KnownProcess[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as KnownProcess[];
  } catch {
    return [];
  }
}
