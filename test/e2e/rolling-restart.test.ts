import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { idToBytes } from '../../src/domain/ids.ts';
import { expectBalanced, startLoad } from '../support/accounting.ts';
import { startBalancer, type Balancer } from '../support/balancer.ts';
import { client, mintToken, send } from '../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

let environment: Environment;
let balancer: Balancer;
let apis: RoleProcess[];
let workers: RoleProcess[];

const startApi = (): Promise<RoleProcess> => startRole('api', { ...environment.env, DRAIN_DELAY_MS: '400' });
const startWorker = (): Promise<RoleProcess> => startRole('worker', environment.env);

beforeAll(async () => {
  environment = await openEnvironment();
  balancer = await startBalancer();
  [apis, workers] = await Promise.all([
    Promise.all([startApi(), startApi()]),
    Promise.all([startWorker(), startWorker()]),
  ]);
  for (const api of apis) balancer.backends.add(api);
});
afterAll(async () => {
  balancer.close();
  await Promise.all([...apis, ...workers].map((process) => process.end()));
  await environment.close();
});

test('two API and two worker processes replaced one by one under load: no request fails, no capture is lost', async () => {
  const address = `http://127.0.0.1:${balancer.port}`;
  await eventually(async () => (await send(`${address}/h/none`)).status === 404);
  const { id } = (await client(apis[0]?.url ?? '', mintToken('ann', { plan: 'enterprise' })).create()).body;
  const load = startLoad({ url: () => `${address}/h/${id}`, connections: 16 });
  for (let round = 0; round < 2; round += 1) {
    for (const index of [0, 1]) {
      const before = load.outcomes.length;
      await eventually(() => load.outcomes.length > before + 300);
      const [oldApi, oldWorker] = [apis[index] as RoleProcess, workers[index] as RoleProcess];
      const [newApi, newWorker] = await Promise.all([startApi(), startWorker()]);
      balancer.backends.add(newApi);
      [apis[index], workers[index]] = [newApi, newWorker];
      // In order, and not killed: the exit code shows that.
      expect(await oldApi.end('SIGTERM')).toBe(0);
      expect(await oldWorker.end('SIGTERM')).toBe(0);
      balancer.backends.delete(oldApi);
    }
  }
  await load.stop();
  await environment.drained();
  expect(load.outcomes.filter(({ kind }) => kind !== 'receipt')).toEqual([]);
  const { rows } = await expectBalanced(environment.db, id, load.outcomes);
  expect(rows).toBe(load.outcomes.length);
  expect(await environment.queue.getFailedCount()).toBe(0);
});

test('an upload during SIGTERM is answered, its connection is closed, and the shutdown is not delayed', async () => {
  const lone = await startRole('api', environment.env);
  const { id } = (await client(lone.url, mintToken('bob')).create()).body;
  const socket = connect(lone.port, '127.0.0.1');
  let reply = '';
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString()));
  socket.write(`POST /h/${id} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nhe`);
  // The server has the request once it has answered a later one.
  await send(`${lone.url}/h/none`);
  const ended = lone.end('SIGTERM');
  await eventually(() => lone.log.some(({ msg }) => msg === 'Stopping'));
  socket.write('re');
  expect(await ended).toBe(0);
  expect(reply).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(reply).toMatch(/\r\nConnection: close\r\n/i);
  await environment.drained();
  const rows = await environment.db.knex('requests').where({ endpoint_id: idToBytes(id) });
  expect(rows.map(({ body }) => String(body))).toEqual(['here']);
});

test('after SIGTERM a worker returns jobs that an unreachable database does not take', async () => {
  const { id } = (await client(apis[0]?.url ?? '', mintToken('carol')).create()).body;
  await Promise.all(workers.splice(0).map((worker) => worker.end()));
  const proxy = await startProxy(Number(environment.env['MYSQL_PORT']));
  const lone = await startRole('worker', { ...environment.env, MYSQL_PORT: String(proxy.port) });
  // From here on its database refuses every connection.
  proxy.close();
  const receipt = await send<{ id: string }>(`${apis[0]?.url}/h/${id}`, { method: 'POST', body: 'kept' });
  await eventually(() => lone.log.some(({ msg }) => String(msg).startsWith('The database did not take captures')));
  expect(await lone.end('SIGTERM')).toBe(0);
  const [job] = await environment.queue.getJobs(['wait']);
  expect([job?.attemptsMade, await environment.queue.getFailedCount()]).toEqual([0, 0]);
  workers.push(await startWorker());
  await environment.drained();
  expect(await environment.db.knex('requests').where({ id: idToBytes(receipt.body.id) })).toHaveLength(1);
});
