import type { Redis } from 'ioredis';
import { mastersOf } from './connections.ts';

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

/**
 * The memory of the fullest master that answers, because captures of each shard need their master.
 * @throws when none answers
 */
export async function readFullest(redis: Redis): Promise<Memory> {
  const answers = mastersOf(redis).map(readMemory);
  const settled = await Promise.allSettled(answers);
  const [first, ...others] = settled.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  if (first === undefined) return answers[0] ?? Promise.reject(new Error('no master is known'));
  return others.reduce((fullest, memory) => (ratioOf(memory) > ratioOf(fullest) ? memory : fullest), first);
}

export function ratioOf({ used, max }: Memory): number {
  return max === 0 ? 0 : used / max;
}

function numberOf(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}
