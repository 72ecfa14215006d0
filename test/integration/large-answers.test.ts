import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { headersFrom } from '../../src/domain/log-entry.ts';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

const MIB = 1024 * 1024;

/** A bound for pauses of the event loop, in seconds: far above the present ones, far below those of the defect. */
const MAX_PAUSE_SECONDS = 0.5;

let environment: Environment;
let api: RoleProcess;
let owner: Client;

beforeAll(async () => {
  environment = await openEnvironment();
  // The share of a slow reader is smaller than the answers requested below.
  api = await startRole('api', { ...environment.env, ANSWER_MAX_BYTES: String(64 * MIB) });
  owner = client(api.url, mintToken('ann', { plan: 'enterprise' }));
});
afterAll(async () => {
  await api.end();
  await environment.close();
});
beforeEach(() => eventually(async () => (await held()) === 0));

const held = async (): Promise<number | undefined> => (await scrape(api.internalPort)).value('hookbay_answer_bytes');

/** Stores entries as a worker does; returns their endpoint. */
async function store(
  count: number,
  fields: (i: number) => Parameters<typeof makeCapture>[1],
  user = owner,
): Promise<string> {
  const { id } = (await user.create()).body;
  for (let i = 0; i < count; i += 1) {
    await persistBatches(environment.db.pool, [
      { id: newTimeOrderedId(), day: '2026-01-01', captures: [makeCapture(id, fields(i))] },
    ]);
  }
  return id;
}

/** The longest pause of the API's event loop during some work, in seconds. */
async function longestPause(act: () => Promise<unknown>): Promise<number> {
  await scrape(api.internalPort);
  await act();
  const pause = (await scrape(api.internalPort)).value('nodejs_eventloop_lag_max_seconds') ?? Infinity;
  if (process.env['SHOW_PAUSES'])
    process.stdout.write(`${expect.getState().currentTestName}: ${Math.round(pause * 1000)} ms\n`);
  return pause;
}

/** Sends a request and reads nothing of the answer. */
function askAndNotRead(path: string, token: string): Socket {
  const socket = closing(connect(api.port, '127.0.0.1'), (open) => void open.destroy());
  socket.pause();
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

describe('large answers and the event loop', () => {
  const many = Array.from({ length: 9_000 }, (_, i) => [`x${i}`, '']).flat();
  const parameters = Array.from({ length: 15_000 }, (_, i) => `${i.toString(36)}&`).join('');

  test.each([
    ['headers', { rawHeaders: many }],
    ['parameters', { target: `/h/x?${parameters}` }],
    [
      'both, with a body of control characters',
      {
        rawHeaders: many.slice(0, 8_000),
        target: `/h/x?${parameters.slice(0, 30_000)}`,
        body: Buffer.alloc(40_000, 1),
      },
    ],
  ])('a page of 200 entries with many %s is made in turns', async (_name, fields) => {
    const endpointId = await store(200, () => fields);
    let page: Awaited<ReturnType<Client['list']>> | undefined;
    const pause = await longestPause(async () => (page = await owner.list(endpointId, '?limit=200')));
    expect(page?.body.requests).toHaveLength(200);
    if ('rawHeaders' in fields) expect(page?.body.requests[0]?.headers).toEqual(headersFrom(fields.rawHeaders));
    expect(pause).toBeLessThan(MAX_PAUSE_SECONDS);
  });

  test.each([
    ['control characters', Buffer.alloc(25 * MIB, 1), true],
    ['bytes that are no text', Buffer.alloc(25 * MIB, 0xff), false],
    ['characters of several bytes', Buffer.from('€😀é'.repeat(2_500_000)), true],
  ])('a detail of 25 MiB of %s is made in pieces, and is exact', async (_name, body, isUtf8) => {
    const endpointId = await store(1, () => ({ body, isUtf8 }));
    const [listed] = (await owner.list(endpointId)).body.requests;
    expect(listed?.body_truncated).toBe(true);
    let answer: Awaited<ReturnType<Client['entry']>> | undefined;
    const pause = await longestPause(async () => (answer = await owner.entry(listed?.id ?? '')));
    expect(Buffer.from(answer?.body.body ?? '', isUtf8 ? 'utf8' : 'base64').equals(body)).toBe(true);
    expect(answer?.body).not.toHaveProperty('body_truncated');
    expect((await owner.body(listed?.id ?? '')).bytes.equals(body)).toBe(true);
    expect(pause).toBeLessThan(MAX_PAUSE_SECONDS);
  });

  test('searches in bodies that are slow to compare and to parse give way to other work [Find: bounds]', async () => {
    const shapes = (bytes: number): Buffer =>
      Buffer.from(`[${Array.from({ length: bytes / 14 }, (_, i) => `{"${i.toString(36)}":1}`).join(',')}]`);
    const bodies = [shapes(16 * MIB), shapes(100 * 1024), Buffer.alloc(MIB, 'a')];
    const endpointId = await store(30, (i) => ({ body: bodies[i === 0 ? 0 : 1 + (i % 2)] as Buffer }));
    for (const query of ['json=$[0].a=1', `q=b${'a'.repeat(199)}`, `q=${'a'.repeat(200)}`]) {
      let status = 0;
      const pause = await longestPause(async () => ({ status } = await owner.list(endpointId, `?${query}`)));
      expect([query, status]).toEqual([query, 200]);
      expect(pause).toBeLessThan(MAX_PAUSE_SECONDS);
    }
  });
});

test('the bodies of a page have at most 8 MiB together: the longest are cut shorter, the others are complete [Very large bodies in lists]', async () => {
  const endpointId = await store(100, (i) => ({
    body: Buffer.from((i % 2 === 0 ? 'a' : 'b').repeat(i % 2 === 0 ? 300_000 : 1_000)),
  }));
  const { requests, total } = (await owner.list(endpointId, '?limit=100')).body;
  expect([requests.length, total]).toEqual([100, 100]);
  const sizes = requests.map(({ body }) => body.length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(8 * MIB);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(7 * MIB);
  expect(
    new Set(
      requests
        .filter(({ size }) => size === 1_000)
        .map(({ body, body_truncated }) => [body.length, body_truncated].join()),
    ),
  ).toEqual(new Set(['1000,']));
  expect(requests.filter(({ size }) => size === 300_000).every(({ body_truncated }) => body_truncated === true)).toBe(
    true,
  );
});

test('clients that do not read hold no more than their share, and others are served', async () => {
  const stranger = client(api.url, mintToken('bob'));
  const endpointId = await store(40, () => ({ body: Buffer.alloc(250_000, 120) }));
  const bobs = await store(1, () => ({ body: Buffer.alloc(5 * MIB, 120) }), stranger);
  const token = mintToken('ann', { plan: 'enterprise' });
  const sockets = Array.from({ length: 40 }, () =>
    askAndNotRead(`/api/endpoints/${endpointId}/requests?limit=200`, token),
  );
  await eventually(async () => ((await held()) ?? 0) > 30 * MIB);
  expect(await held()).toBeLessThan(60 * MIB);
  // Everything is requested by now: requests without room were refused.
  const own = await owner.list(endpointId, '?limit=200');
  expect([own.status, own.headers['retry-after']]).toEqual([503, expect.any(String)]);
  // Small answers, and those of others, find room.
  expect((await owner.list(endpointId, '?limit=1')).status).not.toBe(500);
  const theirs = await stranger.list(bobs);
  expect(theirs.status).toBe(200);
  expect(
    (
      await send(`${api.url}/api/requests/${theirs.body.requests[0]?.id}/body`, {
        headers: ['Authorization', `Bearer ${mintToken('bob')}`],
      })
    ).bytes.length,
  ).toBe(5 * MIB);
  await captureOne(api.url, endpointId, { body: 'beside them' });
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await held()) === 0);
  expect((await owner.list(endpointId, '?limit=200')).status).toBe(200);
});
