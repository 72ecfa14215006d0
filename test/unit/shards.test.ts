import { expect, test } from 'vitest';
import { redisKeys } from '../../src/redis/keys.ts';
import { shardOf, shardPrefixes } from '../../src/redis/shards.ts';
import { SLOTS, slotOf } from '../../src/redis/slots.ts';

test('slots are those of the cluster specification', () => {
  expect(slotOf('123456789')).toBe(0x31c3);
  expect(slotOf('{user1000}.following')).toBe(slotOf('user1000'));
  expect(slotOf('foo{bar}{zap}')).toBe(slotOf('bar'));
});

test.each([1, 2, 3, 5, 64])('the hash tags of %i shards lie in equal ranges of slots, one in each', (shards) => {
  const tags = shardPrefixes('hookbay', shards).map((prefix) => `{${prefix}}`);
  expect(tags[0]).toBe('{hookbay}');
  expect(new Set(tags.map((tag) => Math.floor((slotOf(tag) * shards) / SLOTS))).size).toBe(shards);
});

test('users are spread over the shards', () => {
  const users = Array.from({ length: 10_000 }, (_, i) => `user-${i}`);
  const counts = Map.groupBy(users, (user) => shardOf(user, 7));
  expect([...counts.keys()].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  for (const [, { length }] of counts) expect(Math.abs(length - 10_000 / 7)).toBeLessThan(200);
});

test.each(['ann', 'a{b}c', '{}x', '}{', '%7b'])("the two keys of %j's plan are in one slot", (user) => {
  const { plan, planChange } = redisKeys('hookbay');
  expect(slotOf(planChange(user))).toBe(slotOf(plan(user)));
  expect(plan(user)).not.toBe(plan(`${user}{`));
});
