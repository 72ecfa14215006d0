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
