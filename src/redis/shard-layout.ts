import type { Redis } from 'ioredis';
import { redisKeys } from './keys.ts';
import type { Shard } from './shards.ts';

/*
 * A user's captures and count are in the shard that the number of shards gives, so all processes must have the same
 * number. Each shard has it beside the time since when it counts: `<since>` alone means one shard. A negative number
 * closes a shard, while the number changes and afterwards, if the shard is none any more. A reservation with another
 * number is refused, so nothing is enqueued where no worker looks for it.
 */

/** KEYS: since. ARGV: shards, 1 to replace what is recorded. Returns what is recorded then. */
const RECORD = `
local value = redis.call('GET', KEYS[1])
if value and ARGV[2] ~= '1' then return value end
local time = redis.call('TIME')
value = tostring(time[1] * 1000 + math.floor(time[2] / 1000))
if ARGV[1] ~= '1' then value = value .. ' ' .. ARGV[1] end
redis.call('SET', KEYS[1], value)
return value`;

/** Why this process must not work on these shards; undefined where it may. Records their number in an empty Redis. */
export async function layoutProblem(shards: readonly Shard[]): Promise<string | undefined> {
  const { length } = shards;
  for (const { prefix, redis } of shards) {
    const value = await redis.eval(RECORD, 1, redisKeys(prefix).quotaSince, length, 0);
    const recorded = numberIn(value as string);
    if (recorded === length) continue;
    const found = recorded < 0 ? 'being changed' : recorded;
    return `CAPTURE_QUEUE_SHARDS is ${length} here and ${found} in Redis: set it to that, or stop all processes and run "shards ${length}"`;
  }
  return undefined;
}

/** The recorded number, negative while it is being changed; undefined in an empty Redis. */
export async function recordedShards(redis: Redis, prefix: string): Promise<number | undefined> {
  const value = await redis.get(redisKeys(prefix).quotaSince);
  return value === null ? undefined : numberIn(value);
}

/** Counts of users without one come from the database from now on. */
export async function recordShards(shards: readonly Shard[], number: number): Promise<void> {
  for (const { prefix, redis } of shards) await redis.eval(RECORD, 1, redisKeys(prefix).quotaSince, number, 1);
}

function numberIn(value: string): number {
  return Number(value.split(' ')[1] ?? 1);
}
