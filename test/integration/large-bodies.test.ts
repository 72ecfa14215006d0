import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { enqueueLargeCapture } from '../../src/queue/capture-queue.ts';
import { readLargeBody, removeLargeBody, writeLargeBody } from '../../src/queue/large-bodies.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { makeCapture, storeEndpoint } from '../support/captures.ts';
import { eventually, useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
let prefix: string;
useEnvironment((opened) => {
  environment = opened;
  ({ prefix } = opened.config.redis);
});

const keyOf = (id: string): string => redisKeys(prefix).largeBody(id);

test('a large body is in Redis in values of a quarter MiB, so no command touches more', async () => {
  const { queues, redis, db } = environment;
  const id = newTimeOrderedId();
  const body = randomBytes(3_000_000);
  await queues['capture-large'].pause();
  const captures = [makeCapture(await storeEndpoint(db.knex), { body })];
  await enqueueLargeCapture(queues['capture-large'], redis, prefix, { id, day: '2026-03-01', captures });
  expect(await redis.type(keyOf(id))).toBe('hash');
  const sizes = (await redis.hvalsBuffer(keyOf(id))).map(({ length }) => length);
  expect(Math.max(...sizes)).toBe(256 * 1024);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(body.length);
  expect(await readLargeBody(redis, prefix, id)).toEqual(body);
  await removeLargeBody(redis, prefix, id);
  expect(await redis.exists(keyOf(id))).toBe(0);
  await queues['capture-large'].obliterate({ force: true });
});

test.each([1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3 * 256 * 1024])('a body of %d bytes', async (size) => {
  const id = newTimeOrderedId();
  const body = randomBytes(size);
  await writeLargeBody(environment.redis, prefix, id, body);
  expect(await readLargeBody(environment.redis, prefix, id)).toEqual(body);
});

test('a body that was removed is none, also for a reader that has begun', async () => {
  const { redis } = environment;
  const id = newTimeOrderedId();
  expect(await readLargeBody(redis, prefix, id)).toBeNull();
  await writeLargeBody(redis, prefix, id, randomBytes(8_000_000));
  // One connection has one order of commands: the removal comes after the reader's first ones.
  const reading = readLargeBody(redis, prefix, id);
  await removeLargeBody(redis, prefix, id);
  expect(await reading).toBeNull();
});

test('a job whose body the version before wrote is stored', async () => {
  const { queues, redis, db } = environment;
  const large = queues['capture-large'];
  await large.pause();
  const id = newTimeOrderedId();
  const body = randomBytes(700_000);
  const capture = makeCapture(await storeEndpoint(db.knex), { body });
  await enqueueLargeCapture(large, redis, prefix, { id, day: '2026-03-01', captures: [capture] });
  await redis.set(keyOf(id), body);
  await environment.startWorker();
  await large.resume();
  const stored = async (): Promise<Buffer | undefined> =>
    (await db.knex('requests').where({ size: body.length }).pluck<Buffer[]>('body'))[0];
  await eventually(async () => (await stored()) !== undefined);
  expect(await stored()).toEqual(body);
  await eventually(async () => (await redis.exists(keyOf(id))) === 0);
});
