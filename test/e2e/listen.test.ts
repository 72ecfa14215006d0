import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBalancer, type Balancer } from '../support/balancer.ts';
import { client, mintToken, send, type Receipt } from '../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startListener, startLocalServer, type LocalServer } from '../support/listener.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

let environment: Environment;
let balancer: Balancer;
let apis: RoleProcess[];
let worker: RoleProcess;

beforeAll(async () => {
  environment = await openEnvironment();
  balancer = await startBalancer();
  const start = (role: 'api' | 'worker'): Promise<RoleProcess> => startRole(role, environment.env);
  apis = await Promise.all([start('api'), start('api')]);
  worker = await start('worker');
  for (const api of apis) balancer.backends.add(api);
});
afterAll(async () => {
  balancer.close();
  await Promise.all([...apis, worker].map((process) => process.end()));
  await environment.close();
});

test('restarts of API processes and of the local server lose nothing on the way to a laptop', async () => {
  const url = `http://127.0.0.1:${balancer.port}`;
  await eventually(async () => (await send(`${url}/h/none`)).status === 404);
  const token = mintToken('ann', { plan: 'enterprise' });
  const { id } = (await client(url, token).create()).body;
  // Answers late, so that each restart finds requests without an answer.
  const answer: Parameters<typeof startLocalServer>[0] = (res) => void setTimeout(() => res.end(), 20);
  const servers: LocalServer[] = [await startLocalServer(answer)];
  const { port } = servers[0] as LocalServer;
  const listener = startListener([String(port), '--endpoint', `${url}/h/${id}`, '--json'], { HOOKBAY_TOKEN: token });
  await eventually(() => listener.said().includes('Forwarding'));

  const receipts = new Set<string>();
  let sending = true;
  const senders = Array.from({ length: 4 }, async () => {
    while (sending) {
      const answered = await send<Receipt>(`${url}/h/${id}`, { method: 'POST', body: 'x' }).catch(() => undefined);
      if (answered?.status === 200) receipts.add(answered.body.id);
    }
  });
  const arrivals = (): number => servers.reduce((sum, server) => sum + server.arrivals.length, 0);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const index of [0, 1]) {
      const before = arrivals();
      await eventually(() => arrivals() > before + 50);
      const old = apis[index] as RoleProcess;
      apis[index] = await startRole('api', environment.env);
      balancer.backends.add(apis[index]);
      await old.end(signal);
      balancer.backends.delete(old);
      await servers.at(-1)?.stop();
      const received = receipts.size;
      await eventually(() => receipts.size > received + 20);
      servers.push(await startLocalServer(answer, port));
    }
  }
  sending = false;
  await Promise.all(senders);
  await environment.drained();

  interface Line {
    seq: number;
    id: string;
    status?: number;
  }
  const lines = (): Line[] => listener.lines().map((line) => JSON.parse(line) as Line);
  const { request_count: count } = (await client(url, token).endpoint(id)).body;
  await eventually(() => lines().length >= count);
  expect(await listener.end('SIGINT')).toBe(0);
  const answered = lines().filter(({ status }) => status === 200);
  // Each one once, and without a gap.
  expect(answered.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: count }, (_, i) => i + 1),
  );
  expect([...receipts].filter((receipt) => !answered.some((line) => line.id === receipt))).toEqual([]);
  expect(listener.said()).toContain('connecting again');
  expect(listener.said()).toContain(`--after ${count}`);
  await servers.at(-1)?.stop();
});
