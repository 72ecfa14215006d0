import { beforeEach, describe, expect, test } from 'vitest';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { createLog } from '../../src/log.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { createBroadcaster, type Broadcaster } from '../../src/worker/broadcast.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { connectClient, type LiveClient } from '../support/live/clients.ts';

const BRIEF = 16_384;
const WHOLE = 262_144;

let environment: Environment;
let one: string;
let two: string;
let ann: Client;
let endpointId: string;
let user: string;
let users = 0;

useEnvironment(async (opened) => {
  environment = opened;
  ({ url: one } = await environment.startApi());
  ({ url: two } = await environment.startApi());
  await environment.startWorker();
});
beforeEach(async () => {
  user = `ann-${(users += 1)}`;
  ann = client(one, mintToken(user));
  endpointId = (await ann.create()).body.id;
});

const connect = (url: string): Promise<LiveClient> => connectClient(url, mintToken(user));
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

async function subscribe(viewer: LiveClient, fields: object = {}): Promise<void> {
  expect(await viewer.emit('subscribe', { endpointId, ...fields })).toMatchObject({ endpointId, more: false });
}

const BODIES: Buffer[] = [
  Buffer.from('short'),
  Buffer.alloc(BRIEF, 'a'),
  Buffer.alloc(BRIEF + 1, 'a'),
  Buffer.from('€'.repeat(6_000)),
  Buffer.alloc(20_000, 0xff),
  Buffer.alloc(WHOLE + 1, 'b'),
];

describe('bodyBytes of a subscription [Subscription: `bodyBytes`]', () => {
  test('subscribers of both kinds get each capture once, with bodies cut as they asked; so does a replay', async () => {
    const [brief, whole, plain] = [await connect(two), await connect(one), await connect(two)];
    await subscribe(brief, { bodyBytes: BRIEF });
    await subscribe(whole, { bodyBytes: WHOLE });
    for (const body of BODIES) await captureOne(one, endpointId, { body });
    const viewers = [brief, whole, plain];
    await eventually(() => viewers.every(({ events }) => events.length === BODIES.length));

    const entries = (query: string) =>
      Promise.all(brief.events.map(async ({ id }) => (await ann.entry(id, query)).body));
    expect(brief.events).toEqual(await entries(`?bodyBytes=${BRIEF}`));
    const euros = (n: number): string => '€'.repeat(n);
    expect(brief.events[3]).toMatchObject({ body: euros(Math.floor(BRIEF / 3)), body_truncated: true, size: 18_000 });
    expect(Buffer.from(brief.events[4]?.body ?? '', 'base64')).toHaveLength(BRIEF);
    expect(brief.events[1]).not.toHaveProperty('body_truncated');
    const complete = (await entries('')).slice(0, 5);
    expect(whole.events.slice(0, 5)).toEqual(complete);
    expect(plain.events).toEqual(whole.events);
    expect(whole.events[5]).toMatchObject({ body: '', body_truncated: true });

    for (const [seen, bodyBytes] of [
      [brief, BRIEF],
      [whole, WHOLE],
      [whole, undefined],
    ] as const) {
      const late = await connect(one);
      await subscribe(late, { after: 0, bodyBytes });
      expect(late.events).toEqual(seen.events);
    }
    expect(viewers.map(({ events }) => events.length)).toEqual([6, 6, 6]);
  });

  test('another bodyBytes moves the subscription, and loses nothing', async () => {
    const viewers = [await connect(one), await connect(two)];
    for (const viewer of viewers) await subscribe(viewer, { bodyBytes: BRIEF });
    let sending = true;
    const moving = viewers.map(async (viewer, i) => {
      for (let n = i; sending && n < 200; n += 1) await subscribe(viewer, { bodyBytes: n % 2 === 0 ? WHOLE : BRIEF });
      await subscribe(viewer, { bodyBytes: BRIEF });
    });
    for (let n = 0; n < 150; n += 1) await captureOne(n % 2 === 0 ? one : two, endpointId);
    sending = false;
    await Promise.all(moving);
    await eventually(() => viewers.every((viewer) => new Set(viewer.seqs()).size === 150));

    await captureOne(two, endpointId, { body: Buffer.alloc(BRIEF + 1, 'z') });
    const last = (viewer: LiveClient) => viewer.events.filter(({ seq }) => seq === 151);
    await eventually(() => viewers.every((viewer) => last(viewer).length > 0));
    await captureOne(one, endpointId);
    await eventually(() => viewers.every((viewer) => viewer.seqs().includes(152)));
    for (const viewer of viewers) expect(last(viewer).map(({ body }) => body.length)).toEqual([BRIEF]);
  });

  test('unsubscribe leaves the room, whichever it was', async () => {
    const other = (await ann.create()).body.id;
    const viewer = await connect(one);
    for (const bodyBytes of [BRIEF, WHOLE]) {
      await subscribe(viewer, { bodyBytes });
      expect(await viewer.emit('subscribe', { endpointId: other, bodyBytes: BRIEF })).toMatchObject({ more: false });
      await viewer.emit('unsubscribe', { endpointId: endpointId.toUpperCase() });
      viewer.events.length = 0;
      await captureOne(two, endpointId);
      await captureOne(two, other);
      await eventually(() => viewer.seqs(other).length === 1);
      await environment.drained();
      await captureOne(two, other);
      await eventually(() => viewer.seqs(other).length === 2);
      expect(viewer.seqs(endpointId)).toEqual([]);
      await viewer.emit('unsubscribe', { endpointId: other });
    }
    viewer.events.length = 0;
    await captureOne(two, endpointId, { body: Buffer.alloc(BRIEF + 1, 'a') });
    await captureOne(two, other);
    await eventually(() => viewer.events.length === 2);
    expect(viewer.events.find(({ endpoint_id }) => endpoint_id === endpointId)?.body).toHaveLength(BRIEF + 1);
  });

  test.each([0, 1, 16_385, -16_384, 1.5, '16384', null, [[BRIEF]], { a: 1 }, 1e300])(
    'bodyBytes %j is refused by name, and the subscription stays as it was',
    async (bodyBytes) => {
      const viewer = await connect(two);
      await subscribe(viewer, { bodyBytes: BRIEF });
      const { error } = await viewer.emit('subscribe', { endpointId, bodyBytes });
      expect(error).toBe('bodyBytes: must be 16384 or 262144');
      await captureOne(one, endpointId, { body: Buffer.alloc(BRIEF + 1, 'a') });
      await eventually(() => viewer.events.length === 1);
      expect(viewer.events[0]?.body).toHaveLength(BRIEF);
    },
  );
});

describe('a worker that is publishing [Subscription: `bodyBytes`]', () => {
  /** A broadcaster that does something after it learned who watches, and before it publishes. */
  function interrupted(act: () => Promise<unknown>): Broadcaster {
    const { redis } = environment.config;
    const log = createLog('silent');
    const publisher = closing(openRedis(redis, 'worker', log), closeRedis);
    const call = publisher.call.bind(publisher) as (...args: unknown[]) => Promise<unknown>;
    let first = true;
    publisher.call = async (...args: unknown[]) => {
      const reply = await call(...args);
      if (first) {
        first = false;
        await act();
      }
      return reply;
    };
    return createBroadcaster({ pool: environment.db.pool, publisher, prefix: redis.prefix, log });
  }

  test.each<[string, (viewer: LiveClient) => Promise<unknown>]>([
    ['moves to brief events', (viewer) => subscribe(viewer, { bodyBytes: BRIEF })],
    ['moves to all endpoints of the user', (viewer) => viewer.emit('unsubscribe', { endpointId })],
  ])('finds a socket that meanwhile %s', async (_name, move) => {
    const viewer = await connect(one);
    await subscribe(viewer);
    const capture = makeCapture(endpointId, { userId: user });
    const batch = { id: newTimeOrderedId(), day: '2026-03-01', captures: [capture] };
    const persisted = await persistBatches(environment.db.pool, [batch]);
    await interrupted(() => move(viewer)).broadcast(persisted);
    await eventually(() => viewer.events.length === 1);
    expect(viewer.events[0]?.id).toBe(capture.id);
  });

  test('publishes only to the rooms that are watched', async () => {
    const viewer = await connect(one);
    await subscribe(viewer, { bodyBytes: BRIEF });
    const stored = [1, 2].map((seq) => ({ ...makeCapture(endpointId, { userId: user }), seq }));
    const persisted = { stored, refused: [], repeated: [], orphaned: [] };
    expect(await interrupted(async () => {}).broadcast(persisted)).toBe(2);
    await subscribe(await connect(two));
    expect(await interrupted(async () => {}).broadcast(persisted)).toBe(4);
    await eventually(() => viewer.events.length === 4);
    expect(viewer.seqs()).toEqual([...numbers(1, 2), ...numbers(1, 2)]);
  });
});
