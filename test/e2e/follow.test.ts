import { afterAll, beforeAll, expect, test } from 'vitest';
import { idToBytes } from '../../src/domain/ids.ts';
import { startLoad } from '../support/accounting.ts';
import { client, mintToken } from '../support/client.ts';
import { eventually } from '../support/environment.ts';
import { followByWaits, followEvents } from '../support/follow-client.ts';
import { startFleet, type Fleet } from '../support/fleet.ts';

const CAPTURES = 2_400;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet.stop());

test('streams and waits on two pods, while pods, workers and Redis are killed: each has every entry once, in order', async () => {
  const token = mintToken('follower', { plan: 'enterprise' });
  const owned = await Promise.all([0, 1, 2].map(async () => (await client(fleet.url, token).create()).body.id));
  const followers = owned.flatMap((id) => [
    ...Array.from({ length: 6 }, () => ({ id, followed: followEvents(fleet.url, token, id) })),
    { id, followed: followByWaits(fleet.url, token, id) },
  ]);
  const load = startLoad({
    url: () => `${fleet.url}/h/${owned[Math.floor(Math.random() * owned.length)]}`,
    connections: 8,
    pauseMs: 5,
  });
  const receipts = (): number => load.outcomes.filter(({ kind }) => kind === 'receipt').length;
  const faults = [
    () => fleet.killWorker(0),
    () => fleet.killApi(0),
    () => fleet.killRedis(),
    () => fleet.killWorker(1),
    () => fleet.killApi(1),
    () => fleet.killRedis(),
  ];
  for (const [i, fault] of faults.entries()) {
    await eventually(() => receipts() >= (CAPTURES * (i + 1)) / (faults.length + 2), 300_000);
    await fault();
  }
  await eventually(() => receipts() >= CAPTURES, 300_000);
  await load.stop();
  await fleet.environment.drained();

  for (const { id, followed } of followers) {
    const rows = await fleet.environment.db
      .knex('requests')
      .where('endpoint_id', idToBytes(id))
      .orderBy('seq')
      .pluck<number[]>('seq');
    expect(rows.length).toBeGreaterThan(CAPTURES / 6);
    await eventually(() => followed.seqs.length >= rows.length, 120_000);
    followed.stop();
    expect(followed.seqs).toEqual(rows);
  }
  // Each killed API broke streams.
  expect(followers.reduce((sum, { followed }) => sum + followed.rounds, 0)).toBeGreaterThan(2 * followers.length);
}, 300_000);
