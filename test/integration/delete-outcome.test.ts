import { afterAll, beforeAll, expect, test } from 'vitest';
import { captureOne, client, mintToken, send } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startProxy, type Proxy } from '../support/proxy.ts';

let environment: Environment;
let proxy: Proxy;
let pods: { url: string }[];
beforeAll(async () => {
  environment = await openEnvironment();
  proxy = await startProxy(environment.config.mysql.port);
  pods = [await environment.startApi({ MYSQL_PORT: String(proxy.port) }), await environment.startApi()];
});
afterAll(async () => {
  await environment.close();
  proxy.close();
});

const endpointKey = (id: string): string => `${environment.config.redis.prefix}:endpoint:${id}`;
const capture = async (id: string): Promise<number[]> =>
  Promise.all(pods.map(async ({ url }) => (await send(`${url}/h/${id}`, { method: 'POST' })).status));
const rows = async (id: string): Promise<number> =>
  (await environment.db.knex('endpoints').where({ id: Buffer.from(id.replaceAll('-', ''), 'hex') })).length;

async function newEndpoint(user: string): Promise<{ id: string; remove: () => Promise<number> }> {
  const owner = client(pods[0]?.url ?? '', mintToken(user));
  const { id } = (await owner.create()).body;
  expect(await capture(id)).toEqual([200, 200]);
  return { id, remove: async () => (await owner.removeEndpoint(id)).status };
}

test('the outcome of a delete whose commit is not answered is queried: it is done, and captures stay stopped', async () => {
  const { id, remove } = await newEndpoint('ann');
  closing(proxy.loseAnswersTo('COMMIT;'), (stop) => stop());
  expect(await remove()).toBe(200);
  expect(await rows(id)).toBe(0);
  expect(await capture(id)).toEqual([404, 404]);
});

test('where the database is unreachable as well, Redis keeps the endpoint for seconds, and then the database decides', async () => {
  const { id, remove } = await newEndpoint('bob');
  closing(proxy, (open) => open.takeNew());
  const lose = (): void => {
    proxy.refuseNew();
    proxy.breakExisting();
  };
  closing(proxy.loseAnswersTo('COMMIT;', lose), (stop) => stop());
  expect(await remove()).toBe(503);
  expect(await rows(id)).toBe(0);
  expect(await environment.redis.pttl(endpointKey(id))).toBeLessThanOrEqual(5_000);
  proxy.takeNew();
  await eventually(async () => (await capture(id)).every((status) => status === 404), 30_000);
});

test('a worker that finds an endpoint without a row stops its captures, on all pods', async () => {
  const { id } = await newEndpoint('carl');
  await environment.db
    .knex('endpoints')
    .where({ id: Buffer.from(id.replaceAll('-', ''), 'hex') })
    .delete();
  await captureOne(pods[1]?.url ?? '', id);
  const worker = await environment.startWorker();
  await eventually(async () => (await capture(id)).every((status) => status === 404));
  await environment.drained();
  expect((await scrape(worker.internalPort)).value('hookbay_orphaned_captures_total')).toBeGreaterThanOrEqual(1);
  await worker.stop();
});
