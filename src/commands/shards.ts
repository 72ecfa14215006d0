import type { RedisConfig } from '../config.ts';
import type { Log } from '../log.ts';
import { CAPTURE_QUEUES, openCaptureQueues } from '../queue/capture-queue.ts';
import { redisKeys } from '../redis/keys.ts';
import { recordedShards, recordShards } from '../redis/shard-layout.ts';
import { openShards, shardPrefixes, type Shard } from '../redis/shards.ts';
import { MAX_SHARDS } from '../redis-config.ts';
import type { Resources } from '../resources.ts';
import { UserError } from '../user-error.ts';

const SCAN_CHUNK = 1_000;

/**
 * The role `shards`: prints the number of shards, or changes it. Users move to other shards then, so the old ones have
 * to be empty, and their counts go: those of today come back from the database. It can be interrupted and repeated.
 * @returns what to tell the operator
 * @throws UserError for invalid arguments, and where something is left in a shard; otherwise the error of Redis
 */
export async function shards(args: string[], config: RedisConfig, resources: Resources, log: Log): Promise<string> {
  const wanted = parse(args);
  const [first] = openShards(config, 'worker', resources, log, [config.prefix]) as [Shard];
  const recorded = await recordedShards(first.redis, config.prefix);
  if (recorded === undefined) return 'Redis has no shards yet: the first process records CAPTURE_QUEUE_SHARDS.';
  if (wanted === undefined || recorded === wanted)
    return recorded < 0 ? `${-recorded}, and a change was interrupted: repeat it` : `${recorded}`;
  const open = (number: number): Shard[] =>
    openShards(config, 'worker', resources, log, shardPrefixes(config.prefix, number));
  const old = open(Math.abs(recorded));
  // From now on no API enqueues anything there.
  await recordShards(old, -old.length);
  const left = await whatIsLeft(old);
  if (left !== undefined) {
    await recordShards(old, old.length);
    throw new UserError(`${left}; nothing was changed. Stop the APIs, and let workers run until the queues are empty.`);
  }
  for (const shard of old) await removeCounts(shard);
  // The first shard last: an interrupted change is seen there.
  await recordShards(open(wanted).toReversed(), wanted);
  return `${wanted}, before ${old.length}: start workers and APIs with CAPTURE_QUEUE_SHARDS=${wanted}`;
}

async function whatIsLeft(old: Shard[]): Promise<string | undefined> {
  let [jobs, reservations] = [0, 0];
  for (const { prefix, redis } of old) {
    const queues = openCaptureQueues(redis, prefix);
    for (const name of CAPTURE_QUEUES)
      jobs += await queues[name].getJobCountByTypes('wait', 'active', 'delayed', 'prioritized', 'failed');
    reservations += await redis.hlen(redisKeys(prefix).quotaPending);
  }
  if (jobs > 0) return `${jobs} jobs are left in the capture queues`;
  return reservations > 0
    ? `${reservations} reservations are not settled; workers do that within two minutes`
    : undefined;
}

async function removeCounts({ prefix, redis }: Shard): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', redisKeys(prefix).quotaOfUser('*'), 'COUNT', SCAN_CHUNK);
    cursor = next;
    if (keys.length > 0) await redis.unlink(keys);
  } while (cursor !== '0');
}

function parse(args: string[]): number | undefined {
  const [number, ...more] = args;
  if (number === undefined) return undefined;
  if (more.length > 0 || !/^\d{1,2}$/.test(number) || Number(number) < 1 || Number(number) > MAX_SHARDS)
    throw new UserError(`usage: shards [<number from 1 to ${MAX_SHARDS}>]`);
  return Number(number);
}
