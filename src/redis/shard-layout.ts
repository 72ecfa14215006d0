import type { Redis } from 'ioredis';
import { redisKeys } from './keys.ts';
import type { Shard } from './shards.ts';

/*
 * A user's captures and count are in the shard that the number of shards gives, so all processes must have the same
 * number. Each shard has it beside the time since when it counts: `<since>` alone means one shard. A negative number
 * closes a shard, while the number changes and afterwards, if the shard is none any more. A reservation with another
 * number is refused, so nothing is enqueued where no worker looks for it.
 */

/** KEYS: since. ARGV: shards. Returns what is recorded, and records it where nothing is. */
const READ_OR_RECORD = `
local value = redis.call('GET', KEYS[1])
if value then return value end
local time = redis.call('TIME')
value = tostring(time[1] * 1000 + math.floor(time[2] / 1000))
if ARGV[1] ~= '1' then value = value .. ' ' .. ARGV[1] end
redis.call('SET', KEYS[1], value)
return value`;

/** The recorded number of shards; negative for a shard that is closed. */
export function recordedShards(value: string): number {
  return Number(value.split(' ')[1] ?? 1);
}

/** Why this process must not work on these shards; undefined where it may. */
export async function layoutProblem(shards: readonly Shard[]): Promise<string | undefined> {
  for (const { prefix, redis } of shards) {
    const recorded = await readOrRecord(redis, prefix, shards.length);
    if (recorded === shards.length) continue;
    const found = recorded < 0 ? 'is being changed' : `is ${recorded} in Redis`;
    return `CAPTURE_QUEUE_SHARDS is ${shards.length} here and ${found}: to change it, stop all processes and run "shards ${shards.length}"`;
  }
  return undefined;
}

async function readOrRecord(redis: Redis, prefix: string, shards: number): Promise<number> {
  return recordedShards((await redis.eval(READ_OR_RECORD, 1, redisKeys(prefix).quotaSince, shards)) as string);
}
