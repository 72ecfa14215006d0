import { expect, test } from 'vitest';
import { createLookUps, limitLookUps, TooManyLookUps } from '../../src/store/look-ups.ts';
import { newEndpointId } from '../../src/domain/ids.ts';
import { findCaptureTargets, type CaptureTarget } from '../../src/store/capture-targets.ts';
import { captureOne, client, mintToken, send } from '../support/client.ts';
import { eventually, useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
});

/** The statements of one test, counted when they are sent to the database. */
async function countingStatements<T>(work: () => Promise<T>): Promise<number> {
  let statements = 0;
  const count = (): void => void (statements += 1);
  environment.db.knex.on('query', count);
  await work();
  environment.db.knex.off('query', count);
  return statements;
}

const openLookUps = (poolSize = 10) =>
  createLookUps({ poolSize, findAll: (keys) => findCaptureTargets(environment.db.knex, keys) });

test('concurrent look-ups share statements, and each gets its own answer', async () => {
  const { url } = await environment.startApi();
  const owner = client(url, mintToken('ann', { plan: 'enterprise' }));
  const created = [(await owner.create()).body.id, (await owner.create({ alias: 'anns-hook' })).body.id];
  const keys = [...created, 'anns-hook', 'no-such-hook', ...Array.from({ length: 3_000 }, newEndpointId)];
  const find = openLookUps();
  let targets: (string | undefined)[] = [];
  const statements = await countingStatements(async () => {
    targets = await Promise.all(keys.map(async (key) => (await find(key))?.id));
  });
  expect(targets.slice(0, 4)).toEqual([created[0], created[1], created[1], undefined]);
  expect(targets.slice(4).filter((id) => id !== undefined)).toEqual([]);
  // Seven statements, one of them with aliases.
  expect(statements).toBeLessThanOrEqual(20);
});

test('concurrent look-ups of one key share one query, and an unknown key is not queried again for a while', async () => {
  const find = openLookUps();
  const id = newEndpointId();
  expect(await countingStatements(() => Promise.all(Array.from({ length: 500 }, () => find(id))))).toBe(1);
  expect(await countingStatements(() => find(id))).toBe(0);
});

test('more look-ups than may wait are refused at once, and no look-up waits long for a database that does not answer', async () => {
  const find = createLookUps({ poolSize: 10, findAll: () => new Promise<Map<string, CaptureTarget>>(() => {}) });
  const outcomes = await Promise.allSettled(Array.from({ length: 5_010 }, () => find(newEndpointId())));
  const reasons = outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason as unknown);
  expect(reasons.filter((reason) => reason instanceof TooManyLookUps)).toHaveLength(10);
  expect(reasons.every((reason) => reason instanceof Error)).toBe(true);
});

test('look-ups of captures take two connections of ten at most, and do not begin after their time limit', async () => {
  const limited = limitLookUps(10);
  let [running, most, begun] = [0, 0, 0];
  const ask = async (): Promise<void> => {
    begun += 1;
    running += 1;
    most = Math.max(most, running);
    await environment.db.knex.raw('SELECT SLEEP(0.7)');
    running -= 1;
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => limited(ask)));
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThanOrEqual(46);
  await eventually(() => running === 0);
  expect(most).toBe(2);
  expect(begun).toBeLessThanOrEqual(4);
});

test('management routes and captures work during a scan of random addresses [Unknown endpoint on `/h`]', async () => {
  const { url } = await environment.startApi({ MYSQL_POOL_SIZE: '4' });
  const owner = client(url, mintToken('bob'));
  const { id } = (await owner.create()).body;
  let flooding = true;
  const statuses = new Map<number, number>();
  const flood = Array.from({ length: 100 }, async () => {
    while (flooding) {
      const { status } = await send(`${url}/h/${newEndpointId()}`, { method: 'POST' });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  for (let round = 0; round < 20; round += 1) {
    expect((await owner.endpoint(id)).status).toBe(200);
    expect((await owner.endpoints()).status).toBe(200);
    await captureOne(url, id);
  }
  flooding = false;
  await Promise.all(flood);
  expect([...statuses.keys()].filter((status) => status !== 404 && status !== 503)).toEqual([]);
  expect(statuses.get(404)).toBeGreaterThan(0);
});
