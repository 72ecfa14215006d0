import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { idToBytes, newEndpointId, newTimeOrderedId } from '../../src/domain/ids.ts';
import { httpError } from '../../src/api/http/errors.ts';
import { outcomeOf } from '../../src/api/capture/capture.ts';
import { CAPTURE_OUTCOMES, type CaptureOutcome } from '../../src/api/metrics.ts';
import { enqueueCaptures } from '../../src/queue/capture-queue.ts';
import { openMaintenanceQueue, requestSweep } from '../../src/queue/maintenance-queue.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { scrape, type Exposition } from '../support/exposition.ts';

let environment: Environment;
let url: string;
let port: number;
let internalPort: number;
let owner: Client;
let endpoint: string;

const PLANS = JSON.stringify({ one: { dailyRequests: 1 }, small: { maxRequestSize: 10 } });

useEnvironment(async (opened) => {
  environment = opened;
  ({ url, port, internalPort } = await environment.startApi({ PLANS, INTAKE_MAX_BYTES: String(1024 * 1024) }));
  owner = client(url, mintToken('ann'));
  endpoint = (await owner.create()).body.id;
});

const outcomes = (metrics: Exposition) =>
  Object.fromEntries(
    CAPTURE_OUTCOMES.map((outcome) => [outcome, metrics.value('hookbay_captures_total', { outcome })]),
  ) as Record<CaptureOutcome, number>;

async function endpointOf(plan: string): Promise<string> {
  return (await client(url, mintToken(`${plan}-${newEndpointId()}`, { plan })).create()).body.id;
}

function upload(id: string, declared: number, sent: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`POST /h/${id} HTTP/1.1\r\nHost: x\r\nContent-Length: ${declared}\r\n\r\n${sent}`);
  return socket;
}

describe('hookbay_captures_total', () => {
  const ACTS: [CaptureOutcome, number | undefined, () => Promise<number | undefined>][] = [
    ['accepted', 200, async () => (await send(`${url}/h/${endpoint}`, { method: 'POST', body: 'x' })).status],
    ['unknown_endpoint', 404, async () => (await send(`${url}/h/nobody`, { method: 'POST' })).status],
    [
      'expired',
      410,
      async () => {
        const { id } = (await owner.create()).body;
        await environment.db
          .knex('endpoints')
          .where({ id: idToBytes(id) })
          .update({ expires_at: new Date(0) });
        await environment.redis.del(`${environment.config.redis.prefix}:endpoint:${id}`);
        return (await send(`${url}/h/${id}`, { method: 'POST' })).status;
      },
    ],
    [
      'too_large',
      413,
      async () =>
        (await send(`${url}/h/${await endpointOf('small')}`, { method: 'POST', body: 'x'.repeat(11) })).status,
    ],
    [
      'unavailable',
      503,
      async () => (await send(`${url}/h/${endpoint}`, { method: 'POST', body: 'x'.repeat(2 * 1024 * 1024) })).status,
    ],
    [
      'aborted',
      undefined,
      async () => {
        const socket = upload(endpoint, 100, 'x'.repeat(50));
        // The server has read the beginning when it holds these bytes.
        await eventually(async () => (await scrape(internalPort)).value('hookbay_intake_bytes') === 50);
        socket.destroy();
        return undefined;
      },
    ],
  ];

  test.each(ACTS)('counts %s (%s) and nothing else', async (outcome, status, act) => {
    const before = outcomes(await scrape(internalPort));
    expect(await act()).toBe(status);
    await eventually(async () => outcomes(await scrape(internalPort))[outcome] === before[outcome] + 1);
    expect(outcomes(await scrape(internalPort))).toEqual({ ...before, [outcome]: before[outcome] + 1 });
  });

  test('counts over_quota (429) and the accepted one', async () => {
    const id = await endpointOf('one');
    const before = outcomes(await scrape(internalPort));
    expect((await send(`${url}/h/${id}`, { method: 'POST' })).status).toBe(200);
    expect((await send(`${url}/h/${id}`, { method: 'POST' })).status).toBe(429);
    expect(outcomes(await scrape(internalPort))).toEqual({
      ...before,
      accepted: before.accepted + 1,
      over_quota: before.over_quota + 1,
    });
  });

  test('counts any other 4xx as refused, and unknown errors as unavailable', () => {
    expect([400, 403, 500, 503].map((status) => outcomeOf(httpError(status, 'x')))).toEqual([
      'refused',
      'refused',
      'unavailable',
      'unavailable',
    ]);
    expect(outcomeOf(new TypeError('x'))).toBe('unavailable');
  });
});

test('receipts and batches are measured for accepted captures only', async () => {
  const before = await scrape(internalPort);
  await Promise.all([
    captureOne(url, endpoint),
    captureOne(url, endpoint),
    captureOne(url, endpoint),
    send(`${url}/h/nobody`),
  ]);
  const after = await scrape(internalPort);
  const grown = (name: string): number => (after.value(name) ?? 0) - (before.value(name) ?? 0);
  expect(grown('hookbay_receipt_seconds_count')).toBe(3);
  expect(grown('hookbay_receipt_seconds_sum')).toBeGreaterThan(0);
  // Captures over batches: the sum is exact for any grouping.
  expect(grown('hookbay_batch_captures_sum')).toBe(3);
  expect(grown('hookbay_batch_captures_count')).toBeGreaterThanOrEqual(1);
});

test('the intake reports the bytes that it holds, and releases them', async () => {
  const socket = upload(endpoint, 1000, 'x'.repeat(700));
  const held = async (): Promise<number | undefined> => (await scrape(internalPort)).value('hookbay_intake_bytes');
  await eventually(async () => (await held()) === 700);
  socket.write('x'.repeat(300));
  await eventually(async () => (await held()) === 0);
  socket.destroy();
  expect(await held()).toBe(0);
});

test.each([
  ['GET', '/api/endpoints', '/api/endpoints', '2xx', true],
  ['GET', '/api/endpoints/7d444840-9dc0-11d1-b245-5ffdce74fad2', '/api/endpoints/:id', '4xx', true],
  ['GET', '/api/requests/nonsense/body', '/api/requests/:id/body', '4xx', true],
  ['POST', '/api/requests/nonsense/verify', '/api/requests/:id/verify', '4xx', true],
  ['PATCH', '/api/requests', '/api/requests', '4xx', true],
  // Without a token the guard answers, and the route is still known.
  ['GET', '/api/endpoints/x/requests', '/api/endpoints/:id/requests', '4xx', false],
  ['POST', '/api/verify-signature', '/api/verify-signature', '4xx', false],
  ['GET', '/openapi.json', '/openapi.json', '2xx', false],
  ['GET', '/', '/', '2xx', false],
  ['GET', '/page/0123/nothing/at-all.js', '/page/:hash/{*file}', '4xx', false],
  ['GET', '/api/7d444840-9dc0-11d1-b245-5ffdce74fad2', 'other', '4xx', true],
])('%s %s counts for the route %s', async (method, path, route, status, withToken) => {
  const [before, other] = [
    await scrape(internalPort),
    (metrics: Exposition) => metrics.value('hookbay_http_requests_total') ?? 0,
  ];
  const count = (metrics: Exposition): number => metrics.value('hookbay_http_requests_total', { route, status }) ?? 0;
  await send(`${url}${path}`, { method, headers: withToken ? ['Authorization', `Bearer ${mintToken('ann')}`] : [] });
  await eventually(async () => count(await scrape(internalPort)) === count(before) + 1);
  const after = await scrape(internalPort);
  expect(other(after)).toBe(other(before) + 1);
  expect(after.value('hookbay_http_request_seconds_count', { route })).toBe(
    (before.value('hookbay_http_request_seconds_count', { route }) ?? 0) + 1,
  );
});

test('connections to the database: opened on demand, idle after use, waiting callers counted', async () => {
  const { db } = environment;
  const connections = await Promise.all(
    Array.from({ length: environment.config.mysql.poolSize }, () => db.pool.getConnection()),
  );
  const late = db.pool.getConnection();
  expect(db.connections()).toEqual({ open: connections.length, idle: 0, waiting: 1 });
  for (const connection of connections) connection.release();
  (await late).release();
  expect(db.connections()).toEqual({ open: connections.length, idle: connections.length, waiting: 0 });
  await owner.endpoints();
  const metrics = await scrape(internalPort);
  expect(metrics.value('hookbay_database_connections', { state: 'open' })).toBeGreaterThanOrEqual(1);
  expect(metrics.value('hookbay_database_connections', { state: 'waiting' })).toBe(0);
});

describe('a worker', () => {
  let worker: { internalPort: number; stop(): Promise<void> };
  beforeAll(async () => {
    await environment.db.knex.raw(`CREATE TRIGGER poison BEFORE INSERT ON requests FOR EACH ROW
      IF NEW.body LIKE '%poison%' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poison'; END IF`);
    worker = await environment.startWorker();
    await environment.drained();
  });

  test('measures transactions and counts what it stored and what the database refused', async () => {
    const before = await scrape(worker.internalPort);
    const arrived = Date.now();
    const captures = [
      makeCapture(endpoint),
      makeCapture(endpoint, { body: Buffer.from('poison') }),
      makeCapture(endpoint),
    ];
    await enqueueCaptures(environment.queue, { id: newTimeOrderedId(), day: '2026-03-01', captures });
    await environment.drained();
    const after = await scrape(worker.internalPort);
    const grown = (name: string): number => (after.value(name) ?? 0) - (before.value(name) ?? 0);
    expect(grown('hookbay_persisted_captures_total')).toBe(2);
    expect(grown('hookbay_dead_lettered_captures_total')).toBe(1);
    expect(grown('hookbay_persist_seconds_count')).toBe(1);
    expect(grown('hookbay_capture_to_commit_seconds_count')).toBe(1);
    const seconds = grown('hookbay_capture_to_commit_seconds_sum');
    expect(seconds).toBeGreaterThanOrEqual(grown('hookbay_persist_seconds_sum') - 0.002);
    expect(seconds).toBeLessThanOrEqual((Date.now() - arrived) / 1000);
  });

  test('counts what sweeps removed, by kind, and when the last one ended', async () => {
    const before = await scrape(worker.internalPort);
    const gone = (await owner.create()).body.id;
    await Promise.all([captureOne(url, gone), captureOne(url, gone)]);
    await environment.drained();
    expect((await owner.removeEndpoint(gone)).status).toBe(200);
    const late = (await owner.create()).body.id;
    await environment.db
      .knex('endpoints')
      .where({ id: idToBytes(late) })
      .update({ expires_at: new Date(0) });
    const queue = closing(openMaintenanceQueue(environment.redis, environment.config.redis.prefix), () => {});
    await requestSweep(queue);
    const grown = async (kind: string): Promise<number> =>
      ((await scrape(worker.internalPort)).value('hookbay_swept_rows_total', { kind }) ?? 0) -
      (before.value('hookbay_swept_rows_total', { kind }) ?? 0);
    await eventually(async () => (await grown('purged')) === 2 && (await grown('expired')) >= 1);
    const last = (await scrape(worker.internalPort)).value('hookbay_sweep_last_success_timestamp_seconds') ?? 0;
    expect(Math.abs(last - Date.now() / 1000)).toBeLessThan(60);
  });
});

test('labels have few values and never an id', async () => {
  await send(`${url}/h/${newEndpointId()}`);
  for (const { name, labels } of (await scrape(internalPort)).samples) {
    for (const value of Object.values(labels))
      expect([name, value, /[0-9a-f]{8}-|ann|nonsense/.test(value)]).toEqual([name, value, false]);
  }
});
