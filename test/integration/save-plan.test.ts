import { expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start.ts';
import { createLog } from '../../src/log.ts';
import { newTimeOrderedId, newEndpointId, firstIdAt } from '../../src/domain/ids.ts';
import { findQueued } from '../../src/queue/capture-queue.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { beginPlanChange, fillPlan, finishPlanChange, removeWrongPlans } from '../../src/redis/plan-changes.ts';
import { findPlan } from '../../src/store/users.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { sweep } from '../../src/worker/sweep.ts';
import { sweepPlans } from '../../src/worker/plan-sweep.ts';
import { makeCapture } from '../support/captures.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';

const DAY_MS = 86_400_000;

let environment: Environment;
let api: RunningApi & { url: string };
useEnvironment(async (opened) => {
  environment = opened;
  api = await environment.startApi();
});

const as = (user: string, plan: string, { url } = api): Client => client(url, mintToken(user, { plan }));
const inDatabase = (user: string): Promise<string | undefined> => findPlan(environment.db.knex, user);
const planKey = (user: string): string => `${environment.config.redis.prefix}:plan:${user}`;
const inRedis = (user: string): Promise<string | null> => environment.redis.get(planKey(user));

test('while Redis is unreachable no plan is written, not even by a create; the next request writes it', async () => {
  const proxy = closing(await startProxy(environment.config.redis.port), (open) => open.close());
  const cut = await environment.startApi({ REDIS_PORT: String(proxy.port) });
  await as('ann', 'pro', cut).create();
  expect([await inDatabase('ann'), await inRedis('ann')]).toEqual(['pro', 'pro']);
  proxy.refuseNew();
  proxy.silenceExisting();
  expect((await as('ann', 'free', cut).create()).status).toBe(201);
  expect([await inDatabase('ann'), await inRedis('ann')]).toEqual(['pro', 'pro']);
  proxy.takeNew();
  await eventually(async () => {
    await as('ann', 'free', cut).endpoints();
    return (await inDatabase('ann')) === 'free' && (await inRedis('ann')) === 'free';
  });
  await cut.stop();
});

test('tokens of different plans race on two pods: database and Redis agree whatever the order', async () => {
  const other = await environment.startApi();
  for (let round = 0; round < 15; round += 1) {
    const tokens = [as('bob', 'pro'), as('bob', 'free', other), as('bob', 'enterprise'), as('bob', 'pro', other)];
    const answers = await Promise.all(tokens.map((user) => user.endpoints()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await inRedis('bob')).toBe(await inDatabase('bob'));
  }
  await other.stop();
});

test('an interrupted change leaves no copy, and a change that was overtaken writes none', async () => {
  const {
    redis,
    config: {
      redis: { prefix },
    },
  } = environment;
  await fillPlan(redis, prefix, 'carl', 'free');
  const first = await beginPlanChange(redis, prefix, 'carl');
  expect(await inRedis('carl')).toBeNull();
  // A plan that was read before the commit must not be restored.
  await fillPlan(redis, prefix, 'carl', 'free');
  expect(await inRedis('carl')).toBeNull();
  const second = await beginPlanChange(redis, prefix, 'carl');
  await finishPlanChange(redis, prefix, 'carl', first, 'pro');
  expect(await inRedis('carl')).toBeNull();
  await finishPlanChange(redis, prefix, 'carl', second, 'enterprise');
  expect(await inRedis('carl')).toBe('enterprise');
  await fillPlan(redis, prefix, 'carl', 'free');
  expect(await inRedis('carl')).toBe('enterprise');
});

test('the sweep corrects copies that differ, in chunks, and announces them; the others stay', async () => {
  const {
    redis,
    db,
    config: {
      redis: { prefix },
    },
  } = environment;
  const users = Array.from({ length: 1_203 }, (_, i) => `swept-${String(i).padStart(4, '0')}`);
  const now = new Date();
  await db
    .knex('users')
    .insert(users.map((user) => ({ id: Buffer.from(user), plan: 'pro', created_at: now, updated_at: now })));
  await redis.mset(users.slice(0, 1_200).flatMap((user, i) => [planKey(user), i % 100 === 7 ? 'free' : 'pro']));
  const announced: string[] = [];
  const listener = closing(openRedis(environment.config.redis, 'subscriber', createLog('silent')), closeRedis);
  listener.on('message', (_channel, message) => announced.push(...(JSON.parse(message) as string[])));
  await listener.subscribe(`${prefix}:invalidate`);
  let position: Buffer | undefined;
  let questions = 0;
  const run = () =>
    sweepPlans({
      db: db.knex,
      removeWrong: (some) => removeWrongPlans(redis, prefix, some),
      cursor: { read: async () => position, write: async (last) => void (position = last) },
      // One chunk at a time.
      isOver: () => (questions += 1) % 2 === 0,
    });
  let corrected = await run();
  for (; position !== undefined; corrected += await run());
  expect(corrected).toBe(12);
  expect(questions).toBeGreaterThan(2);
  expect(await redis.mget(users.slice(5, 10).map(planKey))).toEqual(['pro', 'pro', null, 'pro', 'pro']);
  await eventually(() => announced.length === 12);
});

test('retention removes nothing of a user whose plan is in dispute', async () => {
  const owner = as('dora', 'pro');
  const { id } = (await owner.create()).body;
  const old = Array.from({ length: 4 }, (_, i) =>
    makeCapture(id, {
      userId: 'dora',
      id: firstIdAt(Date.now() - 10 * DAY_MS + i).slice(0, 24) + newEndpointId().slice(24),
    }),
  );
  await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures: old }]);
  // The state after an old token whose write only reached the database.
  await environment.db
    .knex('users')
    .where({ id: Buffer.from('dora') })
    .update({ plan: 'free' });
  // One sweep only: the next one would use the database's plan.
  const { redis, config, queues } = environment;
  const { retired } = await sweep({
    db: environment.db.knex,
    plans: config.plans,
    now: Date.now(),
    expiredGraceMs: DAY_MS,
    stopCaptures: async () => {},
    findDisputed: (users) => removeWrongPlans(redis, config.redis.prefix, users),
    findQueued: (ids) => findQueued(queues, redis, ids),
    cursor: { read: async () => undefined, write: async () => {} },
    isOver: () => false,
  });
  expect([retired, await inRedis('dora')]).toEqual([0, null]);
  // The database decides until the user's next request.
  expect((await owner.list(id)).body.total).toBe(4);
  expect([await inDatabase('dora'), await inRedis('dora')]).toEqual(['pro', 'pro']);
});
