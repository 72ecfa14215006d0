import { beforeEach, expect, test } from 'vitest';
import type { LogEntry } from '../../src/domain/log-entry.ts';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
let apis: { url: string; internalPort: number }[];
let url: string;
let users = 0;
let token: string;
let api: Client;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  apis = await Promise.all([environment.startApi(), environment.startApi()]);
  url = apis[0]?.url ?? '';
  await environment.startWorker();
});
beforeEach(async () => {
  token = mintToken(`waiter-${(users += 1)}`, { plan: 'enterprise' });
  api = client(url, token);
  endpointId = (await api.create()).body.id;
});

const next = (query = '', on = url, id = endpointId) =>
  client(on, token).call<LogEntry & { error?: string }>('GET', `/api/endpoints/${id}/requests/next${query}`);

test('a stored entry is answered at once, in the order of seq, as the detail route answers it', async () => {
  const receipts = [await captureOne(url, endpointId, { body: 'a' }), await captureOne(url, endpointId, { body: 'b' })];
  const [first, second] = [await next(), await next('?after=1')];
  expect([first.status, first.headers['x-next-after'], first.body.id]).toEqual([200, '1', receipts[0]?.id]);
  expect([second.status, second.headers['x-next-after'], second.body.id]).toEqual([200, '2', receipts[1]?.id]);
  expect(first.body).toEqual((await api.entry(first.body.id)).body);
});

test('a wait on another process is answered as soon as the capture is stored', async () => {
  const waiting = next('?timeout=55', apis[1]?.url);
  await captureOne(url, endpointId, { body: 'x' });
  expect((await waiting).body).toMatchObject({ seq: 1, body: 'x' });
});

test('204 after the time-out, with the seq to go on after', async () => {
  await captureOne(url, endpointId);
  const { status, headers, bytes } = await next('?after=1&timeout=0');
  expect([status, headers['x-next-after'], bytes.length]).toEqual([204, '1', 0]);
  const late = await next('?after=1&timeout=1');
  expect([late.status, late.headers['x-next-after']]).toEqual([204, '1']);
});
