import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import { poll, type Poll } from '../poll.ts';
import { isForbidden } from './connections.ts';
import { readMemory } from './memory.ts';

const LOOK_MS = 250;

/** An unlimited Redis may get a limit while it runs. */
const LOOK_UNLIMITED_MS = 5_000;

/** So far below the mark captures are taken again, so that the answer does not change with every batch. */
const RESUME_PERCENT_BELOW = 10;

export interface MemoryWatch extends Poll {
  /** Redis' memory in use as a share of its `maxmemory`; 0 when that is unlimited or not known yet. */
  ratio(): number;
  /** Whether captures have to be refused. */
  refusing(): boolean;
}

export interface MemoryWatchOptions {
  redis: Redis;
  refusePercent: number;
  log: Log;
}

/**
 * Watches how full Redis is. At its limit Redis refuses every command that may allocate, and BullMQ fetches a
 * job by such a command: workers could take nothing out of a full Redis any more. So senders are turned away
 * before, while there is room left to work in.
 */
export function startMemoryWatch({ redis, refusePercent, log }: MemoryWatchOptions): MemoryWatch {
  let ratio = 0;
  let refusing = false;
  let warned = false;

  async function look(): Promise<number> {
    try {
      const { used, max } = await readMemory(redis);
      ratio = max === 0 ? 0 : used / max;
      judge();
      return max === 0 ? LOOK_UNLIMITED_MS : LOOK_MS;
    } catch (error) {
      // Without Redis no capture is taken anyhow; what was known last holds until it is back.
      if (!isForbidden(error)) return LOOK_MS;
      if (!warned)
        log.warn(
          'Redis does not tell how full it is, because INFO is forbidden to us (ACL +info): captures go on until it refuses them itself',
        );
      warned = true;
      return LOOK_UNLIMITED_MS;
    }
  }

  function judge(): void {
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

  return { ratio: () => ratio, refusing: () => refusing, ...poll(look) };
}
