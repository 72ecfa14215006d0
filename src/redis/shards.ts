import { crc32 } from 'node:zlib';
import { SLOTS, slotOf } from './slots.ts';

/*
 * A shard holds the queues, daily counts and large bodies of its users under one hash tag, so in one slot of a Redis
 * Cluster. The slots of N shards lie in N equal ranges: masters with equal ranges of slots have equal numbers of shards.
 */

/** The hash tags of all shards; that of the first one does not depend on their number. */
export function shardTags(prefix: string, shards: number): string[] {
  const first = `{${prefix}}`;
  const rangeOf = (tag: string): number => Math.floor((slotOf(tag) * shards) / SLOTS);
  const tags = [first];
  const ranges = new Set([rangeOf(first)]);
  for (let n = 1; tags.length < shards; n += 1) {
    const tag = `{${prefix}:${n}}`;
    if (ranges.has(rangeOf(tag))) continue;
    ranges.add(rangeOf(tag));
    tags.push(tag);
  }
  return tags;
}

/** A user's shard, the same for every process; it changes only with the number of shards. */
export function shardOf(userId: string, shards: number): number {
  return crc32(userId) % shards;
}
