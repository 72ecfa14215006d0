import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { spreadOf } from '../../support/statistics.ts';

const APPENDS = 100;
const APPEND_BYTES = 4_096;

/** How long the disk takes to keep an append of 4 KiB: median in milliseconds. */
export function measureFsync(folder: string): number {
  const file = join(folder, 'fsync');
  const descriptor = openSync(file, 'a');
  const block = Buffer.alloc(APPEND_BYTES, 'x');
  const times = Array.from({ length: APPENDS }, () => {
    const start = performance.now();
    writeSync(descriptor, block);
    fsyncSync(descriptor);
    return performance.now() - start;
  });
  closeSync(descriptor);
  rmSync(file);
  return spreadOf(times).median;
}
