import { readdirSync, readFileSync } from 'node:fs';

/** proc(5) counts in units of 1/100 s on every architecture that Node runs on. */
const MICROSECONDS_A_TICK = 10_000;

/** CPU time of the processes so far, with all their threads and their ended children, in microseconds. */
export function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + parseCpu(readFileSync(`/proc/${pid}/stat`, 'latin1')), 0);
}

/** Fields 14 to 17 of proc_pid_stat(5); the second field may contain spaces and brackets. */
export function parseCpu(stat: string): number {
  const fromThird = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fromThird.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * MICROSECONDS_A_TICK;
}

/**
 * Measures the CPU time of one process in milliseconds, for work of less than some ticks: the scheduler counts
 * nanoseconds, but for each thread that lives, so what a thread used since the last reading is lost when it ends.
 */
export function openCpuMeter(pid: number): () => number {
  let last = new Map<string, number>();
  let total = 0;
  return () => {
    const now = new Map<string, number>();
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const used = threadCpu(pid, thread);
      if (used === undefined) continue;
      now.set(thread, used);
      total += used - (last.get(thread) ?? 0);
    }
    last = now;
    return total / 1e6;
  };
}

function threadCpu(pid: number, thread: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
