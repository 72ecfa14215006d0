import { afterEach, beforeEach, expect, test } from 'vitest';
import { STREAM_TIMES } from '../../src/api/management/event-stream.ts';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import type { LogEntry } from '../../src/domain/answers.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { openEvents, type EventSourceClient } from '../support/event-source.ts';
import { scrape } from '../support/exposition.ts';

let environment: Environment;
let apis: { url: string; internalPort: number }[];
let url: string;
let users = 0;
let user: string;
let token: string;
let api: Client;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  const start = () => environment.startApi({ LIVE_MAX_SOCKETS_PER_USER: '3' });
  apis = await Promise.all([start(), start()]);
  url = apis[0]?.url ?? '';
  await environment.startWorker();
});
beforeEach(async () => {
  user = `follower-${(users += 1)}`;
  token = mintToken(user, { plan: 'enterprise' });
  api = client(url, token);
  endpointId = (await api.create()).body.id;
});
const USUAL = { ...STREAM_TIMES };
afterEach(() => void Object.assign(STREAM_TIMES, USUAL));

const events = async (
  query = '',
  headers: Record<string, string> = {},
  on = url,
  id = endpointId,
): Promise<EventSourceClient> =>
  closing(await openEvents(`${on}/api/endpoints/${id}/events${query}`, token, { headers }), (open) => open.close());

const upTo = (count: number, from = 1): number[] => Array.from({ length: count }, (_, i) => from + i);

const streams = async (index = 0): Promise<number | undefined> =>
  (await scrape(apis[index]?.internalPort ?? 0)).value('hookbay_followers', { kind: 'stream' });

/** Stores entries without the way through the queue. */
async function store(count: number, bodyBytes = 2, body: string = 'x'): Promise<void> {
  const atOnce = bodyBytes < 100 ? 3_000 : 100;
  for (let stored = 0; stored < count; stored += atOnce) {
    const captures = Array.from({ length: Math.min(atOnce, count - stored) }, () =>
      makeCapture(endpointId, { userId: user, body: Buffer.alloc(bodyBytes, body) }),
    );
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures }]);
  }
}

test('a stream begins now, and sends each capture of any process as the detail route answers it [Event stream]', async () => {
  await captureOne(url, endpointId);
  await environment.drained();
  const stream = await events('', {}, apis[1]?.url);
  const { 'content-type': type, 'cache-control': caching, 'x-accel-buffering': buffering } = stream.headers;
  expect([stream.status, type, caching, buffering]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    'no-store, no-transform',
    'no',
  ]);
  // The id is known before the first entry, so whoever connects again misses none.
  await eventually(() => stream.lastId() === '1');
  const { id } = await captureOne(url, endpointId, { body: 'one\nline' });
  await eventually(() => stream.events.length === 2);
  expect(stream.entries()).toEqual([(await api.entry(id)).body]);
  const data = JSON.stringify(stream.entries()[0]);
  expect(stream.text()).toBe(
    `retry: 2000\n\nid: 1\nevent: position\ndata: {"seq":1}\n\nid: 2\nevent: request\ndata: ${data}\n\n`,
  );
});

test('stored entries come first, then live ones, in order; Last-Event-ID beats after', async () => {
  await store(5);
  const all = await events('?after=0');
  const some = await events('?after=0', { 'Last-Event-ID': '3' });
  await eventually(() => all.seqs().length === 5 && some.seqs().length === 2);
  await Promise.all(upTo(200).map(() => captureOne(url, endpointId)));
  await eventually(() => all.seqs().length === 205 && some.seqs().length === 202);
  expect([all.seqs(), some.seqs()]).toEqual([upTo(205), upTo(202, 4)]);
});

test('raw=true adds target and headers, and a body over 256 KiB is left out', async () => {
  const stream = await events('?raw=true');
  const { id } = await captureOne(url, endpointId, { body: 'x'.repeat(300_000) });
  await eventually(() => stream.seqs().length === 1);
  const entry = (await api.call<LogEntry>('GET', `/api/requests/${id}?raw=true`)).body;
  expect(stream.entries()).toEqual([{ ...entry, body: '', body_truncated: true }]);
});

test('with a filter only what matches is sent, and the position moves on without it', async () => {
  STREAM_TIMES.ping = 50;
  const stream = await events('?after=0&path=/yes');
  for (const path of ['no', 'yes', 'no', 'no']) await captureOne(url, `${endpointId}/${path}`);
  await eventually(() => stream.lastId() === '4');
  expect(stream.seqs()).toEqual([2]);
  await eventually(() => stream.text().includes(': ping\n\n'));
});

test('at most 1,000 stored entries are sent, then `more`; a connection with its id goes on', async () => {
  await store(1_150);
  const first = await events('?after=0');
  await eventually(() => first.isOver());
  expect(first.seqs()).toEqual(upTo(1_000));
  expect(first.events.at(-1)).toEqual({ event: 'more', id: '1000', data: '{"seq":1000}' });
  const second = await events('?after=0', { 'Last-Event-ID': '1000' });
  await captureOne(url, endpointId);
  await eventually(() => second.seqs().length === 151);
  expect(second.seqs()).toEqual(upTo(151, 1_001));
});

test('a look back ends after one scan, for a stream and a wait, and says where to go on', async () => {
  await store(51_000);
  const stream = await events('?after=0&q=nothing-like-this');
  await eventually(() => stream.isOver());
  expect(stream.events.map(({ event }) => event)).toEqual(['position', 'more']);
  const scanned = Number(stream.lastId());
  expect(scanned).toBeGreaterThan(0);
  expect(scanned).toBeLessThan(51_000);
  const wait = (after: number) =>
    api.call('GET', `/api/endpoints/${endpointId}/requests/next?after=${after}&timeout=55&q=nothing-like-this`);
  const { status, headers } = await wait(0);
  expect(status).toBe(204);
  expect(Number(headers['x-next-after'])).toBeLessThan(51_000);
});

test('a deleted endpoint ends its streams', async () => {
  const stream = await events('', {}, apis[1]?.url);
  await api.removeEndpoint(endpointId);
  await eventually(() => stream.isOver());
  expect(stream.endReason()).toBe('deleted');
  expect((await events()).status).toBe(404);
});

test('an expired token ends its streams', async () => {
  const short = mintToken(user, { plan: 'enterprise' }, { expiresIn: '2s' });
  const stream = await openEvents(`${url}/api/endpoints/${endpointId}/events`, short);
  await eventually(() => stream.isOver());
  expect(stream.endReason()).toBe('unauthorized');
});

test('a process that stops ends its streams at once, even those that nobody reads', async () => {
  const stopping = await environment.startApi();
  await store(100, 200_000);
  const stream = await events('', {}, stopping.url);
  const frozen = await events('?after=0', {}, stopping.url);
  frozen.pause();
  await stopping.stop();
  await eventually(() => stream.isOver());
  expect(stream.endReason()).toBe('restarting');
});

test('who does not read is ended within a bound, and goes on without a gap; others are not held up', async () => {
  STREAM_TIMES.drain = 500;
  await store(200, 250_000);
  const slow = await events('?after=0');
  slow.pause();
  const quick = await events('?after=0');
  await eventually(() => quick.seqs().length === 200);
  const ends = async () =>
    (await scrape(apis[0]?.internalPort ?? 0)).value('hookbay_stream_ends_total', { reason: 'too_slow' });
  await eventually(async () => (await ends()) === 1);
  slow.resume();
  await eventually(() => slow.isOver());
  expect(slow.endReason()).toBe('too_slow');
  // What was waiting is bounded by the buffers of both ends, not by what is stored.
  expect(slow.seqs().length).toBeLessThan(100);
  const again = await events('?after=0', { 'Last-Event-ID': slow.lastId() ?? '' });
  await eventually(() => slow.seqs().length + again.seqs().length === 200);
  expect([...slow.seqs(), ...again.seqs()]).toEqual(upTo(200));
});

test('a user has as many streams on a process as sockets, until one is closed', async () => {
  const open = [await events(), await events(), await events()];
  const refused = await events();
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5']);
  expect((await events('', {}, apis[1]?.url)).status).toBe(200);
  open[0]?.close();
  await eventually(async () => (await events()).status === 200);
});

test('streams that come and go leave nothing', async () => {
  STREAM_TIMES.probe = 20;
  for (let round = 0; round < 50; round += 1) {
    const some = await Promise.all([events(), events('?after=0'), events('?q=nothing')]);
    for (const one of some) one.close();
    await eventually(async () => (await streams()) === 0);
  }
  const pattern = `${environment.config.redis.prefix}:stored:*`;
  await eventually(
    async () => ((await environment.redis.call('PUBSUB', 'SHARDCHANNELS', pattern)) as string[]).length === 0,
  );
  expect((await events()).status).toBe(200);
});

test.each(['after=-1', 'after=x', 'raw=1', 'json=x'])('400 for %s', async (query) => {
  expect((await events(`?${query}`)).status).toBe(400);
});

test('400 for a Last-Event-ID that is no seq, 404 for an unknown endpoint, 401 without a token', async () => {
  expect((await events('', { 'Last-Event-ID': 'x' })).status).toBe(400);
  expect((await events('', {}, url, 'x')).status).toBe(404);
  expect((await openEvents(`${url}/api/endpoints/${endpointId}/events`, '')).status).toBe(401);
});

test('HEAD takes no place', async () => {
  expect((await api.call('HEAD', `/api/endpoints/${endpointId}/events`)).status).toBe(200);
  await eventually(async () => (await streams()) === 0);
});

test('with LIVE_EVENTS=false a stream and a wait look once a second', async () => {
  const without = await environment.startApi({ LIVE_EVENTS: 'false' });
  const stream = await events('', {}, without.url);
  const waiting = client(without.url, token).call('GET', `/api/endpoints/${endpointId}/requests/next?timeout=55`);
  await captureOne(url, endpointId);
  await eventually(() => stream.seqs().length === 1);
  expect((await waiting).status).toBe(200);
});
