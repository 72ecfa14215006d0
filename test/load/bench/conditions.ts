import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** What the figures depend on. */
export interface Conditions {
  cores: number;
  processor: string;
  memoryGiB: number;
  kernel: string;
  node: string;
  /** Of the stores' data. */
  fileSystem: string;
  /** Median of an append of 4 KiB in the stores' folder, once a round. */
  fsyncMs: number[];
  loadAtStart: number[];
  loadAtEnd?: number[];
  /** Checkout, servers and durability of each subject. */
  subjects: Record<string, string>;
}

export function readConditions(dataDir: string, subjects: Record<string, string>): Conditions {
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    fileSystem: fileSystemOf(dataDir, readFileSync('/proc/self/mounts', 'utf8')),
    fsyncMs: [],
    loadAtStart: loadavg(),
    subjects,
  };
}

/** By the longest mount point above the folder (proc_pid_mounts(5)). */
export function fileSystemOf(folder: string, mounts: string): string {
  const above = mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, point = '-']) => point === '/' || folder === point || folder.startsWith(`${point}/`));
  return (
    above.reduce((best, one) => ((one[1] ?? '').length >= (best[1] ?? '').length ? one : best), ['', ''])[2] ?? '?'
  );
}
