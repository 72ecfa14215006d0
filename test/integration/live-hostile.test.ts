import { beforeEach, expect, test } from 'vitest';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { connectClient } from '../support/live/clients.ts';
import { startProxy } from '../support/proxy.ts';
import { connectRaw, connectRawAs, type RawLive } from '../support/live/raw-socket.ts';

/* The effect of hostile clients, and of stores that hang, on other clients. */

let environment: Environment;
let url: string;
let users = 0;
let user: string;
let token: string;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  ({ url } = await environment.startApi());
  await environment.startWorker();
});
beforeEach(async () => {
  user = `ann-${(users += 1)}`;
  token = mintToken(user);
  endpointId = (await client(url, token).create()).body.id;
});

async function storeLarge(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const capture = makeCapture(endpointId, { userId: user, body: Buffer.alloc(200 * 1024, 'x') });
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures: [capture] }]);
  }
}

test('clients that request a replay and do not read it do not delay the replays of others', async () => {
  // More than the buffers of the operating system hold.
  await storeLarge(80);
  for (let i = 0; i < 40; i += 1) {
    const deaf = await connectRawAs(url, token);
    deaf.send(`42["subscribe",${JSON.stringify({ endpointId, after: 0 })}]`);
    deaf.socket.pause();
  }
  const other = mintToken(`other-${user}`);
  const own = (await client(url, other).create()).body.id;
  await captureOne(url, own);
  await environment.drained();
  const viewer = await connectClient(url, other);
  // Long before the ping time-out detects the clients that do not read.
  expect(await viewer.emit('subscribe', { endpointId: own, after: 0 })).toMatchObject({ replayed: 1 });
});

test('a database that hangs holds no live event back, and the socket stays open', async () => {
  const proxy = closing(await startProxy(environment.config.mysql.port), (open) => open.close());
  const far = await environment.startApi({ MYSQL_PORT: String(proxy.port) });
  const viewer = await connectClient(far.url, token);
  await viewer.emit('subscribe', { endpointId, after: 0 });
  proxy.silenceExisting();
  const answer = viewer.emit('subscribe', { endpointId, after: 0 });
  await captureOne(url, endpointId);
  expect(await answer).toEqual({ error: expect.stringContaining('try again') });
  await eventually(() => viewer.seqs().includes(1));
  expect(await viewer.emit('unsubscribe', { endpointId })).toMatchObject({ next: null });
  proxy.close();
});

test('a database that hangs refuses no socket', async () => {
  const proxy = closing(await startProxy(environment.config.mysql.port), (open) => open.close());
  const far = await environment.startApi({ MYSQL_PORT: String(proxy.port), MYSQL_POOL_SIZE: '2' });
  await Promise.all(Array.from({ length: 6 }, () => client(far.url, token).endpoints()));
  await connectClient(far.url, token);
  proxy.silenceExisting();
  // A new user, whose plan would be stored first.
  const viewer = await connectClient(far.url, mintToken(`new-${user}`), { reconnection: false });
  expect(viewer.socket.connected).toBe(true);
  proxy.close();
});

test('a session cannot be taken over: neither by a polling request nor by another WebSocket', async () => {
  const first = await connectRaw(url);
  const { sid } = JSON.parse(first.messages[0]?.slice(1) ?? '') as { sid: string };
  const answer = await fetch(`${url}/socket.io/?EIO=4&transport=websocket&sid=${sid}`, {
    signal: AbortSignal.timeout(5_000),
  });
  expect(answer.status).toBe(400);
  const second = await connectRaw(url, `&sid=${sid}`);
  expect(second.isGone()).toBe(true);
});

test.each([
  ['has broken the protocol', (peer: RawLive) => void peer.socket.write(Buffer.alloc(16, 255))],
  ['has left', (peer: RawLive) => void peer.socket.write(peer.frame(8, Buffer.alloc(0)))],
  ['does nothing', () => {}],
])('a process stops at once despite a client that %s', async (_name, misbehave) => {
  const api = await environment.startApi();
  const peer = await connectRawAs(api.url, token);
  misbehave(peer);
  await eventually(() => peer.messages.length > 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const start = performance.now();
  await api.stop();
  // Not the half minute of the WebSocket time-out.
  expect(performance.now() - start).toBeLessThan(15_000);
});

test.each([
  [
    'handshakes of other namespaces',
    (peer: RawLive) => Buffer.concat(Array.from({ length: 3_000 }, () => peer.frame(1, Buffer.from('40/other,')))),
  ],
  [
    'pings of WebSocket',
    (peer: RawLive) => Buffer.concat(Array.from({ length: 3_000 }, () => peer.frame(9, Buffer.from('ping')))),
  ],
])('a flood closes the connection: %s', async (_name, flood) => {
  const peer = await connectRawAs(url, token);
  peer.socket.write(flood(peer));
  await eventually(() => peer.closeCode() !== undefined, 20_000);
  expect(peer.messages.length).toBeLessThan(1_500);
});

test("the connection of a client that disconnects its socket is closed, because the token's expiry would not close it", async () => {
  const peer = await connectRawAs(url, token);
  peer.send('41');
  await eventually(() => peer.closeCode() !== undefined, 20_000);
  expect(peer.closeCode()).toBe(1005);
});

test('an event may be larger than the bound for waiting bytes, and its client receives it', async () => {
  const api = await environment.startApi({ LIVE_MAX_BUFFERED_BYTES: String(1024 * 1024) });
  const viewer = await connectClient(api.url, token);
  // Six times its size in JSON.
  await captureOne(url, endpointId, { body: Buffer.alloc(256 * 1024, 1) });
  await captureOne(url, endpointId);
  await eventually(() => viewer.events.length === 2, 20_000);
  expect(await viewer.emit('subscribe', { endpointId, after: 0 })).toMatchObject({ replayed: 2 });
  expect(viewer.closes).toEqual([]);
  await api.stop();
});
