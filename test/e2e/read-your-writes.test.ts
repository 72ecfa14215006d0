import { afterAll, beforeAll, expect, test } from 'vitest';
import { captureOne, client, mintToken } from '../support/client.ts';
import { openEnvironment, type Environment } from '../support/environment.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

let environment: Environment;
let processes: RoleProcess[];

beforeAll(async () => {
  environment = await openEnvironment();
  processes = await Promise.all([
    startRole('api', environment.env),
    startRole('api', environment.env),
    startRole('worker', environment.env),
  ]);
});
afterAll(async () => {
  await Promise.all(processes.map((process) => process.end()));
  await environment.close();
});

test('a thousand captures on one API process, each read at once on another one', async () => {
  const [first, second] = processes as [RoleProcess, RoleProcess];
  const reader = client(second.url, mintToken('ann'));
  const { id: endpointId } = (await reader.create()).body;
  const day = new Date().toISOString().slice(0, 10);
  for (let n = 1; n <= 1_000; n += 1) {
    const { id } = await captureOne(first.url, endpointId, { body: String(n) });
    const list = await reader.list(endpointId, '?limit=1');
    expect([list.body.requests[0]?.id, list.body.total]).toEqual([id, n]);
    const { id: other } = await captureOne(first.url, endpointId, { body: `${n} detail` });
    const detail = await reader.entry(other);
    expect([detail.status, detail.body.body, detail.body.seq]).toEqual([200, `${n} detail`, 2 * n]);
    expect(detail.headers['x-captures-pending']).toBeUndefined();
    expect((await reader.endpoint(endpointId)).body.request_count).toBe(2 * n);
    const { dailyRequests } = (await reader.endpoints()).body.usage;
    // The day may change while this runs.
    if (new Date().toISOString().startsWith(day)) expect(dailyRequests).toBe(2 * n);
    expect((await reader.remove(other)).status).toBe(200);
  }
});
