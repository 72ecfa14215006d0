import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import { poll, type Poll } from '../poll.ts';
import { isForbidden } from './connections.ts';
import { ratioOf, readFullest } from './memory.ts';

const CHECK_MS = 250;

/** A Redis without a limit may get one while it runs. */
const CHECK_UNLIMITED_MS = 5_000;

/** Captures are accepted again this far below the mark, so that the state does not change with every batch. */
const RESUME_PERCENT_BELOW = 10;

export interface MemoryWatch extends Poll {
  /** Redis' memory in use as a share of its `maxmemory`; 0 when that is unlimited or not known yet. */
  ratio(): number;
  refusing(): boolean;
}

export interface MemoryWatchOptions {
  redis: Redis;
  refusePercent: number;
  log: Log;
}

/**
 * Watches the memory of Redis. At its limit Redis refuses every command that may allocate, including the one by which
 * BullMQ fetches jobs, so workers could never drain it. Captures are therefore refused earlier.
 */
export function startMemoryWatch({ redis, refusePercent, log }: MemoryWatchOptions): MemoryWatch {
  let ratio = 0;
  let refusing = false;
  let warned = false;

  async function check(): Promise<number> {
    try {
      const memory = await readFullest(redis);
      ratio = ratioOf(memory);
      updateRefusing();
      return memory.max === 0 ? CHECK_UNLIMITED_MS : CHECK_MS;
    } catch (error) {
      // Without Redis no capture is accepted anyhow; the last state holds until Redis is reachable again.
      if (!isForbidden(error)) return CHECK_MS;
      if (!warned)
        log.warn(
          'The memory of Redis is unknown, because INFO is forbidden (ACL +info is missing): captures are accepted until Redis refuses them',
        );
      warned = true;
      return CHECK_UNLIMITED_MS;
    }
  }

  function updateRefusing(): void {
    const percent = ratio * 100;
    if (!refusing && percent > refusePercent) {
      refusing = true;
      log.warn(
        { percent: Math.round(percent), refusePercent },
        'Redis is nearly full: refusing captures until workers have made room',
      );
    } else if (refusing && percent < refusePercent - RESUME_PERCENT_BELOW) {
      refusing = false;
      log.info({ percent: Math.round(percent) }, 'Redis has room again: taking captures');
    }
  }

  return { ratio: () => ratio, refusing: () => refusing, ...poll(check) };
}
