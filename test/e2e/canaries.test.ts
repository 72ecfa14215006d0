import { randomBytes } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { expect, test } from 'vitest';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { hashShareToken, newShareToken } from '../../src/domain/share.ts';
import { CAPTURE_QUEUES, enqueueCaptures } from '../../src/queue/capture-queue.ts';
import { makeCapture } from '../support/captures.ts';
import { client, send, type Client } from '../support/client.ts';
import { eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';
import type { CreatedShare } from '../support/shares.ts';

/* Data that must not be in any log contains this word, in processes that log everything they can. */
const WORD = `canary${randomBytes(4).toString('hex')}`;
const SECRET = `${WORD}-jwt-secret-${WORD}-jwt-secret`;
const DAY = '2026-03-01';

let environment: Environment;
let env: Record<string, string>;
let api: RoleProcess;
let worker: RoleProcess;
let token: string;
let owner: Client;
let endpoint: string;
const ended: RoleProcess[] = [];

useEnvironment(async (opened) => {
  environment = opened;
  env = { ...environment.env, JWT_SECRET: SECRET };
  // A database with the most verbose messages possible: it quotes what it refuses.
  const quoting = (table: string, column: string, start: string, state: string, errno: number): Promise<unknown> =>
    environment.db.knex.raw(`CREATE TRIGGER ${table}_${start} BEFORE INSERT ON ${table} FOR EACH ROW BEGIN
      DECLARE quote VARCHAR(120); SET quote = LEFT(NEW.${column}, 120);
      IF NEW.${column} LIKE '${start}%' THEN SIGNAL SQLSTATE '${state}' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = quote; END IF; END`);
  await quoting('requests', 'body', 'refused', '45000', 1644);
  await quoting('requests', 'body', 'unclear', 'HY000', 3999);
  await quoting('daily_usage', 'user_id', 'failing', '45000', 1644);
  [api, worker] = await Promise.all([
    startRole('api', env, { logLevel: 'trace' }),
    startRole('worker', env, { logLevel: 'trace' }),
  ]);
  token = jwt.sign({ plan: 'pro' }, SECRET, { algorithm: 'HS256', subject: `${WORD}-user`, expiresIn: '1h' });
  owner = client(api.url, token);
  endpoint = (await owner.create({ alias: `${WORD}-alias` })).body.id;
});

const logged = (process: RoleProcess, message: string): boolean =>
  process.log.some(({ msg }) => String(msg).startsWith(message));

test('captures, with data in every part of them', async () => {
  const headers = [
    'Authorization',
    `Bearer ${WORD}`,
    'Cookie',
    `session=${WORD}`,
    'X-Request-Id',
    WORD,
    `X-${WORD}`,
    WORD,
    'User-Agent',
    WORD,
  ];
  for (const key of [endpoint, `${WORD}-alias`, 'nobody', `${WORD}-nobody`]) {
    await send(`${api.url}/h/${key}/${WORD}?${WORD}=${WORD}`, {
      method: 'POST',
      headers: [...headers, 'Content-Type', 'application/json'],
      body: `{"${WORD}":`,
    });
  }
  await send(`${api.url}/h/${endpoint}`, { method: 'POST', body: WORD.repeat(1024 * 1024) });
  await environment.drained();
  expect((await owner.list(endpoint)).body.total).toBe(2);
});

test('management requests that succeed and that fail', async () => {
  const broken = `{"${WORD}": "${WORD}`;
  const statuses: number[] = [];
  for (const [method, path, body] of [
    ['POST', '/api/endpoints', broken],
    ['POST', '/api/endpoints', { [WORD]: WORD }],
    ['POST', '/api/endpoints', { alias: `${WORD}-alias` }],
    ['POST', '/api/endpoints', WORD.repeat(10_000)],
    ['GET', `/api/endpoints/${WORD}`, undefined],
    ['GET', `/api/endpoints/${endpoint}/requests?limit=${WORD}`, undefined],
    ['GET', `/api/${WORD}?${WORD}`, undefined],
    ['DELETE', '/api/requests', { ids: [WORD] }],
    ['DELETE', '/api/requests', broken],
    ['DELETE', `/api/requests/${WORD}`, undefined],
    ['POST', '/api/verify-signature', { provider: 'github', payload: WORD, signature: `sha256=${WORD}`, secret: WORD }],
    ['POST', '/api/verify-signature', { provider: WORD, payload: WORD, signature: WORD, secret: WORD }],
    ['POST', '/api/verify-signature', broken],
  ] as const) {
    statuses.push((await owner.call(method, path, body)).status);
  }
  expect(statuses).toEqual([400, 400, 409, 413, 404, 400, 404, 400, 400, 404, 200, 400, 400]);
  const [entry] = (await owner.list(endpoint)).body.requests;
  expect(
    (await owner.call('POST', `/api/requests/${entry?.id}/verify`, { provider: 'github', secret: WORD })).status,
  ).toBe(200);
  expect((await owner.entry(entry?.id ?? '')).status).toBe(200);
});

test('custom responses that are taken, refused and sent, and one that cannot be announced', async () => {
  const path = `/api/endpoints/${endpoint}/response`;
  const response = { status: 200, body: WORD, headers: { [`X-${WORD}`]: WORD }, delayMs: 1 };
  const statuses: number[] = [];
  for (const body of [response, { ...response, body: WORD.repeat(2_000) }, { ...response, headers: { [WORD]: 1 } }])
    statuses.push((await owner.call('PUT', path, body)).status);
  expect(statuses).toEqual([200, 400, 400]);
  expect((await send(`${api.url}/h/${endpoint}`)).body).toBe(WORD);
  const lone = await startRole('api', { ...env, MYSQL_PORT: '1' }, { logLevel: 'trace' });
  ended.push(lone);
  expect((await client(lone.url, token).call('PUT', path, response)).status).toBe(503);
  expect((await send(`${lone.url}/h/${endpoint}`)).body).toBe(WORD);
  await lone.end();
  expect((await owner.call('DELETE', path)).status).toBe(200);
});

const shareTokens: string[] = [];

test('share links: their tokens and labels, used, refused, and while the database is unreachable', async () => {
  const share = (path: string) => owner.call<CreatedShare>('POST', path, { label: WORD });
  const [entry] = (await owner.list(endpoint)).body.requests;
  const { token: gone, id } = (await share(`/api/endpoints/${endpoint}/shares`)).body;
  const { token: live } = (await share(`/api/requests/${entry?.id}/shares`)).body;
  expect((await owner.call('DELETE', `/api/shares/${id}`)).status).toBe(200);
  const unknown = newShareToken();
  shareTokens.push(gone, live, unknown);
  const statuses: number[] = [];
  for (const token of shareTokens) {
    const holder = client(api.url, token);
    statuses.push((await holder.entry(entry?.id ?? '')).status, (await holder.list(endpoint)).status);
    statuses.push((await holder.call('POST', '/api/endpoints', { [WORD]: WORD })).status);
    statuses.push((await send(`${api.url}/s?${token}`)).status, (await send(`${api.url}/s/${token}`)).status);
  }
  expect(statuses).toEqual([410, 410, 403, 200, 404, 200, 403, 403, 200, 404, 401, 401, 401, 200, 404]);
  const lone = await startRole('api', { ...env, MYSQL_PORT: '1' }, { logLevel: 'trace' });
  ended.push(lone);
  expect((await client(lone.url, live).entry(entry?.id ?? '')).status).toBe(503);
  await eventually(() => logged(lone, 'Request failed'));
  await lone.end();
});

test('tokens that are refused', async () => {
  const expired = jwt.sign({}, SECRET, { subject: WORD, expiresIn: -100 });
  for (const header of [
    `Bearer ${WORD}`,
    `Bearer ${WORD}.${WORD}.${WORD}`,
    `Basic ${WORD}`,
    `Bearer ${expired}`,
    `Bearer ${token}x`,
  ]) {
    expect((await send(`${api.url}/api/endpoints`, { headers: ['Authorization', header] })).status).toBe(401);
  }
  const unknownPlan = jwt.sign({ plan: WORD }, SECRET, { subject: WORD, expiresIn: 100 });
  expect((await client(api.url, unknownPlan).endpoints()).status).toBe(403);
});

test('rows that the database refuses, and an unreachable database', async () => {
  for (const start of ['refused', 'unclear'])
    await send(`${api.url}/h/${endpoint}`, { method: 'POST', body: `${start} ${WORD}` });
  await environment.drained();
  expect(await environment.db.knex('dead_letters').pluck('error_code')).toHaveLength(2);
  expect(logged(worker, 'The database refused captures')).toBe(true);
  expect(logged(worker, 'The database did not take captures')).toBe(true);

  const lone = await startRole('api', { ...env, MYSQL_PORT: '1' }, { logLevel: 'trace' });
  ended.push(lone);
  expect((await client(lone.url, token).create({ alias: `${WORD}-other` })).status).toBe(503);
  await eventually(() => logged(lone, 'Request failed'));
  await lone.end();
});

test('a Redis that is full', async () => {
  const [, before = '0'] = await environment.redis.config('GET', 'maxmemory');
  await environment.redis.config('SET', 'maxmemory', '1');
  try {
    expect((await send(`${api.url}/h/${endpoint}`, { method: 'POST', body: WORD })).status).toBe(503);
    await eventually(() => logged(api, 'Captures refused'));
  } finally {
    await environment.redis.config('SET', 'maxmemory', before);
  }
});

test("jobs that fail, in the log and in BullMQ's records of them", async () => {
  const { queue, redis } = environment;
  const day = DAY;
  const failing = makeCapture(endpoint, { userId: `failing-${WORD}`, body: Buffer.from(WORD) });
  await enqueueCaptures(queue, { id: newTimeOrderedId(), day, captures: [failing] });
  const malformed = [
    { v: 2, day, captures: [] },
    { v: 1, day, captures: [{ id: WORD, headers: WORD, b: [WORD, 1], target: { [WORD]: WORD } }] },
    { v: 1, day: WORD, captures: [{ b: 1 }] },
    { v: 1, day, captures: WORD },
  ];
  for (const data of malformed) await queue.add('batch', data as never, { jobId: newTimeOrderedId() });
  const jobIds = async (): Promise<string[]> => queue.getRanges(['wait', 'active', 'delayed', 'failed'], 0, 100);
  const reasonOf = (id: string): Promise<string | null> => redis.hget(queue.toKey(id), 'failedReason');
  await eventually(async () => {
    const reasons = await Promise.all((await jobIds()).map(reasonOf));
    return reasons.length === malformed.length + 1 && reasons.every((reason) => reason !== null);
  });
  expect(logged(worker, 'Job failed')).toBe(true);

  const kept: string[] = [];
  for (const name of CAPTURE_QUEUES) {
    for (const key of await redis.keys(`${environment.queues[name].toKey('')}*`)) {
      if ((await redis.type(key)) === 'hash')
        kept.push(JSON.stringify(await redis.hmget(key, 'failedReason', 'stacktrace')));
    }
  }
  expect(kept.filter((fields) => /\bat .*worker\.ts|persist|capture-job/.test(fields)).length).toBeGreaterThan(1);
  expect(kept.filter((fields) => fields.includes(WORD))).toEqual([]);
});

test('a job whose data cannot be read', async () => {
  const id = newTimeOrderedId();
  await worker.end('SIGTERM');
  ended.push(worker);
  await environment.queue.add('batch', { v: 1, day: DAY, captures: [] }, { jobId: id });
  // Short enough for the parser to quote it completely.
  await environment.redis.hset(environment.queue.toKey(id), 'data', WORD);
  worker = await startRole('worker', env, { logLevel: 'trace' });
  await eventually(() => logged(worker, 'Queue trouble'));
  expect(worker.log.find(({ msg }) => msg === 'Queue trouble')).toMatchObject({ error: { type: 'SyntaxError' } });
});

test('an uncaught error', async () => {
  const crash = `process.on("SIGUSR2", () => { void Promise.reject(Object.assign(new Error("out of order"), { sql: process.env.CANARY })); })`;
  const lone = await startRole(
    'worker',
    { ...env, CANARY: WORD, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` },
    { logLevel: 'trace' },
  );
  ended.push(lone);
  expect(await lone.end('SIGUSR2')).toBe(1);
  expect(lone.log.at(-1)).toMatchObject({ level: 60, error: { message: 'out of order' }, msg: 'Crashed' });
});

test('the word is in no output and in no metrics of any process', async () => {
  const metrics = await Promise.all(
    [api, worker].map(async ({ internalPort }) => (await fetch(`http://127.0.0.1:${internalPort}/metrics`)).text()),
  );
  await Promise.all([api.end(), worker.end()]);
  const texts = [...metrics, ...[...ended, api, worker].map((process) => process.output())];
  expect(texts.every((text) => text.length > 100)).toBe(true);
  const secrets = [
    WORD,
    ...token.split('.'),
    ...[WORD].flatMap((text) => [Buffer.from(text).toString('hex'), Buffer.from(text).toString('base64').slice(0, 16)]),
  ];
  secrets.push(...shareTokens.flatMap((text) => [text.slice(4), hashShareToken(text).toString('hex')]));
  secrets.push(environment.env['MYSQL_PASSWORD'] ?? '', environment.env['REDIS_PASSWORD'] ?? '');
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(8);
    for (const text of texts) expect(text.split('\n').filter((line) => line.includes(secret))).toEqual([]);
  }
});
