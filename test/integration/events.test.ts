import { beforeEach, expect, test } from 'vitest';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { openEvents, type EventSourceClient } from '../support/event-source.ts';

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
  token = mintToken(`follower-${(users += 1)}`, { plan: 'enterprise' });
  api = client(url, token);
  endpointId = (await api.create()).body.id;
});

const events = async (
  query = '',
  headers: Record<string, string> = {},
  on = url,
  id = endpointId,
): Promise<EventSourceClient> =>
  closing(await openEvents(`${on}/api/endpoints/${id}/events${query}`, token, { headers }), (open) => open.close());

const upTo = (count: number, from = 1): number[] => Array.from({ length: count }, (_, i) => from + i);

test('a stream begins now, and sends each capture of any process as the detail route answers it', async () => {
  await captureOne(url, endpointId);
  await environment.drained();
  const stream = await events('', {}, apis[1]?.url);
  expect([stream.status, stream.headers['content-type'], stream.headers['cache-control']]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    'no-store, no-transform',
  ]);
  await eventually(() => stream.lastId() === '1');
  const { id } = await captureOne(url, endpointId, { body: 'one\nline' });
  await eventually(() => stream.events.length === 2);
  expect(stream.entries()).toEqual([(await api.entry(id)).body]);
  expect(stream.lastId()).toBe('2');
});

test('stored entries come first, then live ones, in order; Last-Event-ID beats after', async () => {
  for (let i = 0; i < 5; i += 1) await captureOne(url, endpointId);
  await environment.drained();
  const all = await events('?after=0');
  const some = await events('?after=0', { 'Last-Event-ID': '3' });
  await eventually(() => all.seqs().length === 5 && some.seqs().length === 2);
  await Promise.all(upTo(50).map(() => captureOne(url, endpointId)));
  await eventually(() => all.seqs().length === 55 && some.seqs().length === 52);
  expect([all.seqs(), some.seqs()]).toEqual([upTo(55), upTo(52, 4)]);
});

test('a deleted endpoint ends the stream', async () => {
  const stream = await events('', {}, apis[1]?.url);
  await api.removeEndpoint(endpointId);
  await eventually(() => stream.isOver());
  expect(stream.endReason()).toBe('deleted');
});
