import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '../user-error.ts';

/** More than a process gives itself (`SHUTDOWN_TIMEOUT_MS`). */
const STOP_TIMEOUT_MS = 40_000;
const POLL_MS = 50;

/** A process that survives its pid being given to another one: `born` tells the two apart. */
interface KnownProcess {
  name: string;
  pid: number;
  born: string;
}

/** The processes that belong to a data directory. */
export interface ProcessRegistry {
  /**
   * Starts a program in a process group of its own, so that Ctrl-C reaches the launcher alone, which stops it in order.
   */
  start(
    name: string,
    command: string,
    args: string[],
    options: { env?: NodeJS.ProcessEnv; logFile: string; ipc?: boolean },
  ): ChildProcess;
  /** Forgets the launcher itself; the data directory is free again. */
  release(): void;
}

/**
 * Takes possession of a data directory. Processes of a launcher that was killed are stopped first.
 *
 * @throws UserError when another launcher is running on it
 */
export async function claimDataDir(dataDir: string): Promise<ProcessRegistry> {
  const file = join(dataDir, 'processes.json');
  const left = readKnown(file).filter(({ pid, born }) => bornOf(pid) === born);
  const launcher = left.find(({ name }) => name === 'launcher');
  if (launcher !== undefined) {
    throw new UserError(
      `Hookbay is running on ${dataDir} already (process ${launcher.pid}). Stop it, or set another DATA_DIR and PORT.`,
    );
  }
  // Database and Redis last: the others still need them while they stop.
  for (const { pid } of left.toReversed()) await stopProcess(pid);

  const known: KnownProcess[] = [];
  function record(name: string, pid: number): void {
    known.push({ name, pid, born: bornOf(pid) ?? '' });
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

/** Asks a process to stop, and ends it when it does not. */
export async function stopProcess(pid: number): Promise<void> {
  if (!signal(pid, 'SIGTERM')) return;
  for (let waited = 0; waited < STOP_TIMEOUT_MS; waited += POLL_MS) {
    if (!isAlive(pid)) return;
    await sleep(POLL_MS);
  }
  signal(pid, 'SIGKILL');
}

/** Whether a pid is a process that still runs, rather than one that only waits for its parent to notice its end. */
export function isAlive(pid: number): boolean {
  if (!signal(pid, 0)) return false;
  const state = statOf(pid)?.[0];
  return state === undefined ? process.platform !== 'linux' : !'ZX'.includes(state);
}

/** The fields of proc_pid_stat(5) from the third on; the second may hold spaces and brackets. */
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

/** Parent of a process, where the system tells it (Linux). */
export function parentOf(pid: number): number | undefined {
  const field = statOf(pid)?.[1];
  return field === undefined ? undefined : Number(field);
}

/** When a process began, in whatever form the system tells it; undefined when there is none. */
function bornOf(pid: number): string | undefined {
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
