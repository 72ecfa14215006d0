import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createBroadcaster } from '../../src/worker/broadcast.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { CLOSE, EVENT_MAX_BODY_BYTES } from '../../src/domain/live-event.ts';
import { createLog } from '../../src/log.ts';
import { enqueueCaptures } from '../../src/queue/capture-queue.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startProxy } from '../support/proxy.ts';
import { connectClient, refusedHandshake, startClient } from '../support/live/clients.ts';

let environment: Environment;
let one: string;
let two: string;
let firstWorker: { internalPort: number };
let ann: Client;
let endpointId: string;
let user: string;
let users = 0;

useEnvironment(async (opened) => {
  environment = opened;
  ({ url: one } = await environment.startApi());
  ({ url: two } = await environment.startApi());
  firstWorker = await environment.startWorker();
});
beforeEach(async () => {
  // A user of its own: another test's captures may still be in flight.
  user = `ann-${(users += 1)}`;
  ann = client(one, token());
  endpointId = (await ann.create()).body.id;
});

const token = (claims: Record<string, unknown> = { plan: 'pro' }, options = {}): string =>
  mintToken(user, claims, options);
const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);
const unknownId = '2b8ab1ea-60c1-4b0c-8e3d-3a2f3f0cbe11';

async function captureMany(count: number, key = endpointId): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) => captureOne(i % 2 === 0 ? one : two, key, { body: String(i) })),
  );
}

describe('a plain connection [Event]', () => {
  test('gets every capture of its user, from any pod, in the form of the detail route', async () => {
    const other = (await ann.create()).body.id;
    const viewers = [await connectClient(one, token()), await connectClient(two, token())];
    const binary = await captureOne(one, endpointId, {
      body: Buffer.from([0, 255, 128]),
      headers: ['X-Twice', 'a', 'x-twice', 'b'],
    });
    const text = await captureOne(two, `${other}/some/path?a=1&a=2`, {
      body: 'hëllo',
      headers: ['Content-Type', 'text/plain'],
    });
    for (const viewer of viewers) {
      await eventually(() => viewer.events.length === 2);
      for (const { id } of [binary, text]) {
        expect(viewer.events.find((event) => event.id === id)).toEqual((await ann.entry(id)).body);
      }
    }
  });

  test('gets no event of another user', async () => {
    const eve = await connectClient(two, mintToken('eve'));
    const viewer = await connectClient(two, token());
    await captureMany(20);
    await eventually(() => viewer.events.length === 20);
    // Her own capture comes after all of those.
    const own = (await client(one, mintToken('eve')).create()).body.id;
    await captureOne(one, own);
    await eventually(() => eve.events.length > 0);
    expect(eve.events.map(({ endpoint_id }) => endpoint_id)).toEqual([own]);
  });

  test('a body over 256 KiB is left out with body_truncated, one of exactly 256 KiB is sent', async () => {
    const viewer = await connectClient(one, token());
    await captureOne(two, endpointId, { body: Buffer.alloc(EVENT_MAX_BODY_BYTES, 'a') });
    await eventually(() => viewer.events.length === 1);
    await captureOne(two, endpointId, { body: Buffer.alloc(EVENT_MAX_BODY_BYTES + 1, 'a') });
    await eventually(() => viewer.events.length === 2);
    const [whole, cut] = viewer.events;
    expect(whole?.body).toHaveLength(EVENT_MAX_BODY_BYTES);
    expect(whole).not.toHaveProperty('body_truncated');
    expect(cut).toMatchObject({ body: '', body_truncated: true, size: EVENT_MAX_BODY_BYTES + 1 });
    const replayed = await connectClient(one, token());
    await replayed.emit('subscribe', { endpointId, after: 0 });
    expect(replayed.events).toEqual([whole, cut]);
  });

  test('every capture after `connect` or an acknowledgement is received, also with a slow connection to Redis', async () => {
    const proxy = closing(await startProxy(environment.config.redis.port, 100), (open) => open.close());
    const far = await environment.startApi({ REDIS_PORT: String(proxy.port) });
    const viewer = await connectClient(far.url, token());
    await captureOne(one, endpointId);
    await eventually(() => viewer.events.length === 1);
    await viewer.emit('subscribe', { endpointId });
    await captureOne(one, endpointId);
    await eventually(() => viewer.seqs().includes(2));
    await viewer.emit('unsubscribe', { endpointId });
    await captureOne(one, endpointId);
    await eventually(() => viewer.seqs().includes(3));
    expect(viewer.closes).toEqual([]);
    await far.stop();
  });
});

describe('subscribe and unsubscribe [Subscription]', () => {
  test('limit a connection to some endpoints, and remove the limit again', async () => {
    const other = (await ann.create()).body.id;
    const viewer = await connectClient(two, token());
    expect(await viewer.emit('subscribe', { endpointId: endpointId.toUpperCase() })).toEqual({
      endpointId,
      replayed: 0,
      next: 0,
      more: false,
    });
    await captureOne(one, other);
    await captureOne(one, endpointId);
    await eventually(() => viewer.events.length === 1);
    expect(viewer.seqs(endpointId)).toEqual([1]);

    expect(await viewer.emit('subscribe', { endpointId: other })).toEqual({
      endpointId: other,
      replayed: 0,
      next: 1,
      more: false,
    });
    await captureOne(two, other);
    await eventually(() => viewer.seqs(other).length === 1);

    expect(await viewer.emit('unsubscribe', { endpointId })).toEqual({
      endpointId,
      replayed: 0,
      next: null,
      more: false,
    });
    await captureOne(one, endpointId);
    await captureOne(one, other);
    await eventually(() => viewer.seqs(other).length === 2);
    expect(viewer.seqs(endpointId)).toEqual([1]);

    await viewer.emit('unsubscribe', { endpointId: other });
    await captureOne(one, endpointId);
    await captureOne(one, other);
    await eventually(() => viewer.seqs(other).length === 3 && viewer.seqs(endpointId).length === 2);
    expect(viewer.seqs(endpointId)).toEqual([1, 3]);
  });

  test('`after` replays the later entries, in order, and then live events follow', async () => {
    await captureMany(45);
    await environment.drained();
    const viewer = await connectClient(one, token());
    expect(await viewer.emit('subscribe', { endpointId, after: 5 })).toEqual({
      endpointId,
      replayed: 40,
      next: 45,
      more: false,
    });
    expect(viewer.seqs()).toEqual(numbers(45).slice(5));
    await captureMany(1);
    await eventually(() => viewer.events.length === 41);
    expect(viewer.seqs().at(-1)).toBe(46);
    expect(await viewer.emit('subscribe', { endpointId, after: 46 })).toEqual({
      endpointId,
      replayed: 0,
      next: 46,
      more: false,
    });
  });

  test('deleted entries are no gap: `next` continues after them', async () => {
    await captureMany(10);
    const { requests } = (await ann.list(endpointId)).body;
    await ann.removeMany(requests.filter(({ seq }) => seq > 7).map(({ id }) => id));
    const viewer = await connectClient(one, token());
    expect(await viewer.emit('subscribe', { endpointId, after: 0 })).toEqual({
      endpointId,
      replayed: 7,
      next: 10,
      more: false,
    });
  });

  test('`more` and `next` report more than a thousand entries', async () => {
    const captures = Array.from({ length: 2_300 }, () => makeCapture(endpointId));
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures }]);
    const viewer = await connectClient(two, token());
    const first = await viewer.emit('subscribe', { endpointId, after: 0 });
    expect(first).toEqual({ endpointId, replayed: 1_000, next: 1_000, more: true });
    const second = await viewer.emit('subscribe', { endpointId, after: 1_000 });
    expect(second).toEqual({ endpointId, replayed: 1_000, next: 2_000, more: true });
    expect(await viewer.emit('subscribe', { endpointId, after: 2_000 })).toEqual({
      endpointId,
      replayed: 300,
      next: 2_300,
      more: false,
    });
    expect(viewer.seqs()).toEqual(numbers(2_300));
  });

  test('an entry that is committed between the read and the join is not missed, and replayed entries come first', async () => {
    let sending = true;
    const load = Promise.all(
      [one, two].map(async (url) => {
        while (sending) await captureOne(url, endpointId);
      }),
    );
    onTestFinished(async () => {
      sending = false;
      await load;
    });
    await eventually(async () => (await ann.endpoint(endpointId)).body.request_count > 50);
    for (let round = 0; round < 15; round += 1) {
      const viewer = await connectClient(round % 2 === 0 ? one : two, token());
      const before = viewer.events.length;
      // Few enough that one answer replays them, however many there are by now.
      const after = Math.max(10, (await ann.endpoint(endpointId)).body.request_count - 300);
      const { next, replayed } = await viewer.emit('subscribe', { endpointId, after });
      const received = viewer.seqs().slice(before);
      await eventually(() => Math.max(...viewer.seqs()) > (next ?? 0) + 30);
      const top = Math.max(...viewer.seqs()) - 20;
      const seen = new Set(viewer.seqs());
      expect(numbers(top).filter((seq) => seq > after && !seen.has(seq))).toEqual([]);
      // The replayed entries are in order and without a gap, and the live ones follow.
      const past = received.slice(received.indexOf(after + 1)).slice(0, replayed);
      expect(past).toEqual(past.map((_, i) => after + 1 + i));
      viewer.socket.disconnect();
    }
  });

  test("to an unknown endpoint or another user's: the same error, and no room", async () => {
    const viewer = await connectClient(one, mintToken('mallory'));
    expect(await viewer.emit('subscribe', { endpointId, after: 0 })).toEqual({ error: 'Not found' });
    expect(await viewer.emit('subscribe', { endpointId: unknownId })).toEqual({ error: 'Not found' });
    await captureOne(one, endpointId);
    const own = (await client(one, mintToken('mallory')).create()).body.id;
    await captureOne(one, own);
    await eventually(() => viewer.events.length > 0);
    expect(viewer.events.map(({ endpoint_id }) => endpoint_id)).toEqual([own]);
  });

  test.each([
    ['no message', undefined],
    ['an alias', { endpointId: 'my-alias' }],
    ['a negative after', { endpointId: unknownId, after: -1 }],
    ['an after in text', { endpointId: unknownId, after: '5' }],
    ['a fraction', { endpointId: unknownId, after: 0.5 }],
    ['an unknown field', { endpointId: unknownId, since: 5 }],
    ['a list', [unknownId]],
    ['SQL', { endpointId: "' OR 1=1 --" }],
  ])('an invalid message is answered by an error: %s', async (_name, message) => {
    const viewer = await connectClient(one, token());
    for (const event of ['subscribe', 'unsubscribe'])
      expect(await viewer.emit(event, message)).toEqual({ error: expect.any(String) });
    expect(viewer.closes).toEqual([]);
  });

  test('both work without an acknowledgement', async () => {
    const viewer = await connectClient(one, token());
    await captureMany(3);
    await environment.drained();
    const before = viewer.events.length;
    viewer.socket.emit('subscribe', { endpointId, after: 0 });
    await eventually(() => viewer.events.length >= before + 3);
    expect(viewer.seqs().slice(-3)).toEqual([1, 2, 3]);
  });

  test('an entry past retention is not replayed', async () => {
    const old = makeCapture(endpointId, { id: newTimeOrderedId().replace(/^.{13}/, '01800000-0000') });
    await persistBatches(environment.db.pool, [
      { id: newTimeOrderedId(), day: '2026-03-01', captures: [old, makeCapture(endpointId)] },
    ]);
    const viewer = await connectClient(one, token());
    expect(await viewer.emit('subscribe', { endpointId, after: 0 })).toEqual({
      endpointId,
      replayed: 1,
      next: 2,
      more: false,
    });
    expect(viewer.seqs()).toEqual([2]);
  });
});

describe('the handshake [WebSocket]', () => {
  test.each([
    ['none', undefined],
    ['no text', { token: 1 }],
    ['junk', 'abc'],
    ['another key', mintToken('ann').replace(/.{4}$/, 'AAAA')],
    ['expired', mintToken('ann', { plan: 'pro' }, { expiresIn: -60 })],
    ['expired within the leeway of requests', mintToken('ann', { plan: 'pro' }, { expiresIn: -1 })],
  ])('an invalid token is refused as unauthorized: %s', async (_name, token) => {
    expect((await refusedHandshake(one, token)).message).toBe('unauthorized');
  });

  test('an unknown plan is refused as forbidden', async () => {
    const { message, data } = await refusedHandshake(one, token({ plan: 'platinum' }));
    expect([message, data?.error]).toEqual(['forbidden', expect.stringContaining('platinum')]);
  });

  test('there is no polling', async () => {
    const client = closing(
      startClient(one, token(), { transports: ['polling'], reconnection: false }),
      ({ socket }) => void socket.disconnect(),
    );
    await eventually(() => client.refusals.length === 1);
    expect(client.socket.connected).toBe(false);
  });

  test('a socket is cut when its token expires, and admitted again with a new one', async () => {
    const tokens = [token({ plan: 'pro' }, { expiresIn: 2 }), token()];
    const viewer = await connectClient(one, undefined, {
      auth: (send: (auth: object) => void) => send({ token: tokens.shift() }),
    });
    await eventually(() => viewer.closes.length === 1);
    expect(viewer.closes).toEqual([CLOSE.unauthorized]);
    await eventually(() => viewer.socket.connected);
    await captureOne(two, endpointId);
    await eventually(() => viewer.events.length === 1);
  });

  test('an Upgrade header on /h is an ordinary capture, that of Socket.IO too', async () => {
    for (const upgrade of ['h2c', 'websocket', 'socket.io nonsense']) {
      const headers = [
        'Connection',
        'Upgrade',
        'Upgrade',
        upgrade,
        'Sec-WebSocket-Key',
        'dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Version',
        '13',
      ];
      const { status, body } = await send<{ id: string }>(
        `${one}/h/${endpointId}/socket.io/?EIO=4&transport=websocket`,
        { method: 'POST', headers, body: upgrade },
      );
      expect(status).toBe(200);
      expect((await ann.entry(body.id)).body).toMatchObject({ body: upgrade, headers: { upgrade } });
    }
  });

  test('with LIVE_EVENTS=false there is no such path', async () => {
    const api = await environment.startApi({ LIVE_EVENTS: 'false' });
    const answer = await send(`${api.url}/socket.io/?EIO=4&transport=websocket`, {
      headers: ['Connection', 'Upgrade', 'Upgrade', 'websocket'],
    });
    expect([answer.status, answer.body]).toEqual([404, { error: 'Not found' }]);
    await api.stop();
  });
});

describe('the worker', () => {
  test('publishes no event without followers, and each capture once to a room with followers', async () => {
    const { redis, prefix } = { redis: environment.config.redis, prefix: environment.config.redis.prefix };
    const log = createLog('silent');
    const publisher = closing(openRedis(redis, 'worker', log), closeRedis);
    const broadcaster = createBroadcaster({ pool: environment.db.pool, publisher, prefix, log });
    const stored = Array.from({ length: 5 }, (_, i) => ({
      ...makeCapture(endpointId, { userId: `nobody-${user}` }),
      seq: i + 1,
    }));
    expect(await broadcaster.broadcast({ stored, refused: [], repeated: [], orphaned: [] })).toBe(0);
    const viewer = await connectClient(one, token());
    await viewer.emit('subscribe', { endpointId });
    expect(await broadcaster.broadcast({ stored, refused: [], repeated: [], orphaned: [] })).toBe(5);
    await eventually(() => viewer.events.length === 5);
    await connectClient(two, mintToken(`nobody-${user}`));
    expect(await broadcaster.broadcast({ stored, refused: [], repeated: [], orphaned: [] })).toBe(10);
    await eventually(() => viewer.events.length === 10);
  });

  test('that died after the commit loses no event: the next run of its job publishes what was stored', async () => {
    const viewer = await connectClient(one, token());
    const batch = {
      id: newTimeOrderedId(),
      day: '2026-03-01',
      captures: [makeCapture(endpointId, { userId: user }), makeCapture(endpointId, { userId: user })],
    };
    await persistBatches(environment.db.pool, [batch]);
    expect(viewer.events).toEqual([]);
    await enqueueCaptures(environment.queue, batch);
    await eventually(() => viewer.events.length === 2);
    expect(viewer.events.map(({ id, seq }) => [id, seq])).toEqual(batch.captures.map(({ id }, i) => [id, i + 1]));
  });
});

test('sockets, events, replays and the reasons of closes are measured', async () => {
  const api = await environment.startApi();
  const worker = await environment.startWorker();
  const first = await connectClient(api.url, token());
  await connectClient(api.url, token());
  expect((await scrape(api.internalPort)).value('hookbay_sockets')).toBe(2);
  for (let i = 0; i < 5; i += 1) await captureOne(api.url, endpointId);
  await eventually(() => first.events.length === 5);
  await first.emit('subscribe', { endpointId, after: 2 });
  expect((await scrape(api.internalPort)).value('hookbay_replayed_events_total')).toBe(3);
  first.socket.disconnect();
  await eventually(
    async () => (await scrape(api.internalPort)).value('hookbay_socket_closes_total', { reason: 'client' }) === 1,
  );
  // Another worker runs some of the jobs, and has the rest of the counts.
  await eventually(async () => {
    const [here, there] = [await scrape(worker.internalPort), await scrape(firstWorker.internalPort)];
    return (
      (here.value('hookbay_events_total') ?? 0) + (there.value('hookbay_events_total') ?? 0) >= 5 &&
      (there.value('hookbay_commit_to_event_seconds_count') ?? 0) > 0
    );
  });
  await api.stop();
  await worker.stop();
});
