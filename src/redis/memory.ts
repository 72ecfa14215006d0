import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

/** Bytes; `max` 0 = unlimited. */
export interface Memory {
  used: number;
  max: number;
}

/** @throws when Redis does not answer */
export async function readMemory(redis: Redis): Promise<Memory> {
  const info = await redis.info('memory');
  return { used: numberOf(info, 'used_memory'), max: numberOf(info, 'maxmemory') };
}

function numberOf(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}

/** Calls `look` again and again, with the pause in milliseconds that it answers, until `stop`. It never throws. */
export function keepLooking(look: () => Promise<number>): { stop(): void } {
  const stopped = new AbortController();
  void run();
  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const pauseMs = await look();
      await sleep(pauseMs, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    }
  }
  return { stop: () => stopped.abort() };
}
