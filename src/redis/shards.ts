import { crc32 } from 'node:zlib';
import type { Redis } from 'ioredis';
import type { RedisConfig } from '../config.ts';
import type { Log } from '../log.ts';
import type { Resources } from '../resources.ts';
import { closeRedis, openRedis, type RedisRole } from './connections.ts';
import { SLOTS, slotOf } from './slots.ts';

/*
 * A shard holds the queues, daily counts and large bodies of its users under one hash tag, so in one slot of a Redis
 * Cluster. The slots of N shards lie in N equal ranges: masters with equal ranges of slots have equal numbers of shards.
 */

export interface Shard {
  /** Namespace of its keys; the hash tag is this in braces. */
  prefix: string;
  /** In a Redis Cluster a connection to the master of the shard; otherwise all shards have the same. */
  redis: Redis;
}

/** The prefixes of all shards; that of the first one is `prefix`, whatever their number. */
export function shardPrefixes(prefix: string, shards: number): string[] {
  const rangeOf = (name: string): number => Math.floor((slotOf(`{${name}}`) * shards) / SLOTS);
  const prefixes = [prefix];
  const ranges = new Set([rangeOf(prefix)]);
  for (let n = 1; prefixes.length < shards; n += 1) {
    const name = `${prefix}:${n}`;
    if (ranges.has(rangeOf(name))) continue;
    ranges.add(rangeOf(name));
    prefixes.push(name);
  }
  return prefixes;
}

/** A user's shard, the same for every process; it changes only with the number of shards. */
export function shardOf(userId: string, shards: number): number {
  return crc32(userId) % shards;
}

export function openShards(
  config: RedisConfig,
  role: RedisRole,
  resources: Resources,
  log: Log,
  prefixes = shardPrefixes(config.prefix, config.shards),
): Shard[] {
  const open = (prefix: string): Redis => resources.add(openRedis(config, role, log, `{${prefix}}`), closeRedis);
  if (config.cluster.length > 0) return prefixes.map((prefix) => ({ prefix, redis: open(prefix) }));
  const redis = open(config.prefix);
  return prefixes.map((prefix) => ({ prefix, redis }));
}
