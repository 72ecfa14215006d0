import { createSecretKey } from 'node:crypto';
import { createServer } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { io } from 'socket.io-client';
import { startLive } from '../../src/api/live/server.ts';
import { createMessageLimit } from '../../src/api/live/message-limit.ts';
import { FRESH_MS, type KeySource } from '../../src/api/auth/jwks-source.ts';
import { TOKEN_RECHECK_MS } from '../../src/api/auth/token-watch.ts';
import { unavailable } from '../../src/api/http/errors.ts';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { CLOSE } from '../../src/domain/live-event.ts';
import { createLog } from '../../src/log.ts';
import { createApiMetrics } from '../../src/api/metrics.ts';
import { listen } from '../../src/ops/listen.ts';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { watchSubscriber } from '../../src/redis/live-channels.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, JWT_SECRET, useEnvironment, type Environment } from '../support/environment.ts';
import { catchUpOnConnect, connectClient, refusedHandshake, type LiveClient } from '../support/live/clients.ts';
import { startProxy } from '../support/proxy.ts';

const log = createLog('silent');
let environment: Environment;
let url: string;
let users = 0;
let user: string;
let token: string;
let api: Client;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  ({ url } = await environment.startApi({
    LIVE_MAX_SOCKETS_PER_USER: '3',
    LIVE_MAX_BUFFERED_BYTES: String(4 * 1024 * 1024),
  }));
  await environment.startWorker();
});
beforeEach(async () => {
  user = `ann-${(users += 1)}`;
  token = mintToken(user);
  api = client(url, token);
  endpointId = (await api.create()).body.id;
});

/** Stops reading, as a frozen browser tab does. */
function reading({ socket }: LiveClient, on: boolean): void {
  const transport = (
    socket.io.engine as unknown as { transport: { ws: { _socket: { pause(): void; resume(): void } } } }
  ).transport;
  if (on) transport.ws._socket.resume();
  else transport.ws._socket.pause();
}

async function store(count: number, bodyBytes: number): Promise<void> {
  const captures = Array.from({ length: count }, () =>
    makeCapture(endpointId, { userId: user, body: Buffer.alloc(bodyBytes, 'x') }),
  );
  for (const capture of captures)
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures: [capture] }]);
}

test('a user has a maximum of connections to one process, until one of them is closed', async () => {
  const [first] = [await connectClient(url, token), await connectClient(url, token), await connectClient(url, token)];
  const { message, data } = await refusedHandshake(url, token);
  expect([message, data?.error]).toEqual([
    'too many connections',
    'You have 3 connections to this process, which is the maximum',
  ]);
  await connectClient(url, mintToken(`other-${user}`));
  first?.socket.disconnect();
  await eventually(async () => {
    await connectClient(url, token);
    return true;
  });
});

test('a frame over 16 KiB closes the connection with 1009', async () => {
  const viewer = await connectClient(url, token, { reconnection: false });
  viewer.socket.emit('subscribe', { endpointId: 'x'.repeat(20_000) });
  await eventually(() => viewer.closes.length === 1);
  expect(viewer.closes[0]?.code).toBe(1009);
});

test('messages beyond the limit are answered by an error, and a flood closes the connection', async () => {
  const viewer = await connectClient(url, token, { reconnection: false });
  const answers = await Promise.all(Array.from({ length: 600 }, () => viewer.emit('unsubscribe', { endpointId })));
  const refused = answers.filter(({ error }) => error !== undefined);
  expect(refused.length).toBeGreaterThan(50);
  expect(refused[0]?.error).toMatch(/^Too many messages/);
  for (let i = 0; i < 2_000; i += 1) viewer.socket.emit('nonsense', i);
  await eventually(() => viewer.closes.length === 1);
  expect(viewer.closes).toEqual([CLOSE.too_many_messages]);
});

test('the limit: a burst, then a rate a second', () => {
  let now = 0;
  const limit = createMessageLimit(() => now);
  const take = (count: number): string[] => Array.from({ length: count }, () => limit.take());
  expect(new Set(take(500))).toEqual(new Set(['allowed']));
  expect(take(1)).toEqual(['refused']);
  now = 1_000;
  expect(take(21).filter((verdict) => verdict === 'allowed')).toHaveLength(20);
  expect(take(500).at(-1)).toBe('flood');
  now = 100_000;
  expect(take(501).filter((verdict) => verdict === 'allowed')).toHaveLength(500);
});

test('a client that does not read is cut at the bound, reads the reason, reconnects and misses nothing', async () => {
  const viewer = await connectClient(url, token);
  const { id } = viewer.socket;
  const other = await connectClient(url, token);
  reading(viewer, false);
  // A little more than the buffers of the operating system and the bound together: a client that was cut has ten
  // seconds to read the reason.
  for (let i = 0; i < 100; i += 1) await captureOne(url, endpointId, { body: Buffer.alloc(200 * 1024, 'x') });
  await eventually(() => other.events.length === 100);
  reading(viewer, true);
  await eventually(() => viewer.closes.length === 1);
  expect(viewer.closes).toEqual([CLOSE.too_slow]);
  await eventually(() => viewer.socket.connected && viewer.socket.id !== id);
  await viewer.emit('subscribe', { endpointId, after: 0 });
  expect(new Set(viewer.seqs())).toEqual(new Set(Array.from({ length: 100 }, (_, i) => i + 1)));
});

test('a replay waits for its client, which is not cut for large entries', async () => {
  await store(60, 250 * 1024);
  const viewer = await connectClient(url, token);
  const answer = viewer.emit('subscribe', { endpointId, after: 0 });
  reading(viewer, false);
  // Fifteen megabytes exceed the buffers: the rest is read when the client reads.
  await eventually(() => viewer.events.length > 0 || viewer.socket.connected);
  reading(viewer, true);
  expect(await answer).toMatchObject({ replayed: 60, more: false });
  expect(viewer.closes).toEqual([]);
});

test('a withdrawn key closes its sockets, an unreachable key server does not', async () => {
  const { jwt } = environment.config;
  const key = { key: createSecretKey(Buffer.from(JWT_SECRET)), algorithms: ['HS256' as const] };
  let answer: Awaited<ReturnType<KeySource>> | Error = key;
  let checks = 0;
  const keySource: KeySource = async () => {
    checks += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const http = createServer();
  const { redis, plans, defaultPlan } = environment.config;
  const [publisher, subscriber] = [
    closing(openRedis(redis, 'live', log), closeRedis),
    closing(openRedis(redis, 'subscriber', log), closeRedis),
  ];
  const auth = { jwt, keySource, plans, defaultPlan, rememberPlan: async () => {} };
  const live = closing(
    startLive({
      http,
      db: environment.db,
      publisher,
      subscriber,
      prefix: redis.prefix,
      auth,
      metrics: createApiMetrics(),
      log,
      maxSocketsPerUser: 9,
      maxBufferedBytes: 1e7,
      enabled: true,
      tokenRecheckMs: 20,
    }),
    (open) => open.close(),
  );
  const address = `http://127.0.0.1:${await listen(http, '127.0.0.1', 0)}`;
  const viewer = closing(
    io(address, { transports: ['websocket'], auth: { token }, reconnectionDelay: 20 }),
    (socket) => void socket.disconnect(),
  );
  await eventually(() => viewer.connected);
  const closes: number[] = [];
  viewer.on('disconnect', (_reason, details) =>
    closes.push((details as unknown as { context: { code: number } }).context.code),
  );

  answer = unavailable('The key server is unreachable');
  checks = 0;
  await eventually(() => checks > 3);
  expect(closes).toEqual([]);
  answer = undefined;
  await eventually(() => closes.length > 0);
  expect(closes).toEqual([CLOSE.unauthorized.code]);
  await eventually(() => live.connections() === 0);
  // As configured: the maximum age of keys and the pause between two checks together.
  expect(FRESH_MS + TOKEN_RECHECK_MS).toBeLessThan(60_000);
});

test('the subscriber connection breaks: sockets are closed, reconnect and catch up', async () => {
  // A Redis user of its own distinguishes its connections from those of other files.
  const name = environment.config.redis.prefix;
  await environment.redis.call('ACL', 'SETUSER', name, 'on', '>secret', '~*', '&*', '+@all');
  const own = await environment.startApi({ REDIS_USERNAME: name, REDIS_PASSWORD: 'secret' });
  const viewer = await connectClient(own.url, token);
  catchUpOnConnect(viewer, endpointId);
  await captureOne(url, endpointId);
  await eventually(() => viewer.events.length === 1);
  for (let round = 0; round < 3; round += 1) {
    const clients = (await environment.redis.call('CLIENT', 'LIST')) as string;
    const ids = clients
      .split('\n')
      .filter((line) => line.includes(` user=${name} `) && / ssub=[1-9]/.test(line))
      .map((line) => /id=(\d+)/.exec(line)?.[1] as string);
    expect(ids).toHaveLength(1);
    await environment.redis.call('CLIENT', 'KILL', 'ID', ids[0] as string);
    await captureOne(url, endpointId);
    await eventually(() => viewer.seqs().includes(round + 2));
  }
  expect(viewer.closes).toEqual(Array.from({ length: 3 }, () => CLOSE.interrupted));
  await own.stop();
  await environment.redis.call('ACL', 'DELUSER', name);
});

test('a connection to Redis that hangs is detected', async () => {
  const proxy = closing(await startProxy(environment.config.redis.port), (open) => open.close());
  const subscriber = closing(
    openRedis({ ...environment.config.redis, host: '127.0.0.1', port: proxy.port }, 'subscriber', log),
    closeRedis,
  );
  let interruptions = 0;
  const listening = closing(
    watchSubscriber(subscriber, environment.config.redis.prefix, log, () => (interruptions += 1)),
    (watch) => watch.stop(),
  );
  await eventually(() => listening.isUp());
  proxy.silenceExisting();
  await eventually(() => interruptions === 1);
  await eventually(() => listening.isUp());
  await listening.settled();
  expect(interruptions).toBe(1);
});
