import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idToBytes } from '../../src/domain/ids.ts';
import type { LogEntry } from '../../src/domain/answers.ts';
import { PACE } from '../../src/redis/wake-ups.ts';
import { captureOne, client, mintToken, rawExchange, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';

let environment: Environment;
let apis: { url: string; internalPort: number; port: number }[];
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

const SAFETY_NET = { ...PACE };
afterEach(() => void Object.assign(PACE, SAFETY_NET));

/** What is found without a wake-up comes after the time limit of the test. */
function withoutSafetyNet(): void {
  Object.assign(PACE, { atLeastEveryMs: 600_000, unheardEveryMs: 600_000 });
}

const next = (query = '', on = url, id = endpointId) =>
  client(on, token).call<LogEntry & { error?: string }>('GET', `/api/endpoints/${id}/requests/next${query}`);

const waitsOf = async (index = 0): Promise<number | undefined> =>
  (await scrape(apis[index]?.internalPort ?? 0)).value('hookbay_followers', { kind: 'wait' });

test('a stored entry is answered at once, in the order of seq, as the detail route answers it [Wait]', async () => {
  const receipts = [await captureOne(url, endpointId, { body: 'a' }), await captureOne(url, endpointId, { body: 'b' })];
  const [first, second] = [await next(), await next('?after=1')];
  expect([first.status, first.headers['x-next-after'], first.body.id]).toEqual([200, '1', receipts[0]?.id]);
  expect([second.status, second.headers['x-next-after'], second.body.id]).toEqual([200, '2', receipts[1]?.id]);
  expect(first.body).toEqual((await api.entry(first.body.id)).body);
  const raw = await next('?raw=true');
  expect(raw.body).toEqual((await api.call<LogEntry>('GET', `/api/requests/${first.body.id}?raw=true`)).body);
  expect(raw.body.target).toBe(`/h/${endpointId}`);
});

test('a body over 256 KiB is whole', async () => {
  const body = 'x'.repeat(300_000);
  await captureOne(url, endpointId, { body });
  expect((await next()).body.body).toBe(body);
});

test('thousands of captures race with waits on two processes, and none is missed', async () => {
  withoutSafetyNet();
  const missed: unknown[] = [];
  let races = 0;
  const race = async (runner: number): Promise<void> => {
    const { id } = (await api.create()).body;
    for (let seq = 1; seq <= 130; seq += 1) {
      const waiting = next(`?after=${seq - 1}&timeout=30`, apis[(runner + seq) % 2]?.url, id);
      // From before the look until after it.
      for (let pause = (runner + seq) % 12; pause > 0; pause -= 1) await new Promise((done) => setTimeout(done, 1));
      const [{ status, body }] = await Promise.all([waiting, captureOne(apis[runner % 2]?.url ?? '', id)]);
      races += 1;
      if (status !== 200 || body.seq !== seq) missed.push([id, seq, status, body]);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, runner) => race(runner)));
  expect([races, missed]).toEqual([2_080, []]);
});

test('all who wait for one endpoint are woken, and an endpoint that nobody follows has no channel', async () => {
  withoutSafetyNet();
  const waiting = Array.from({ length: 20 }, (_, i) => next('?timeout=55', apis[i % 2]?.url));
  await eventually(async () => (await waitsOf(0)) === 10 && (await waitsOf(1)) === 10);
  await captureOne(url, endpointId);
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  const channels = `${environment.config.redis.prefix}:stored:*`;
  await eventually(
    async () => ((await environment.redis.call('PUBSUB', 'SHARDCHANNELS', channels)) as string[]).length === 0,
  );
});

test('204 after the time-out, with the seq to go on after', async () => {
  await captureOne(url, endpointId);
  const { status, headers, bytes } = await next('?after=1&timeout=0');
  expect([status, headers['x-next-after'], bytes.length]).toEqual([204, '1', 0]);
  const late = await next('?after=1&timeout=1');
  expect([late.status, late.headers['x-next-after']]).toEqual([204, '1']);
});

test('a filter chooses the entry, and the seq to go on after passes those that do not match', async () => {
  const waiting = next('?timeout=55&path=/orders&json=$.state=paid&method=POST', apis[1]?.url);
  await eventually(async () => (await waitsOf(1)) === 1);
  await captureOne(url, endpointId, { body: '{"state":"paid"}' });
  await captureOne(url, `${endpointId}/orders/1`, { body: '{"state":"open"}' });
  await captureOne(url, `${endpointId}/orders/2`, { body: '{"state":"paid"}' });
  expect((await waiting).body).toMatchObject({ seq: 3, path: `/h/${endpointId}/orders/2` });
  const none = await next('?timeout=0&q=nothing-like-this');
  expect([none.status, none.headers['x-next-after']]).toEqual([204, '3']);
  expect((await next('?q=xx')).status).toBe(400);
});

test('what is acknowledged and not stored is in no 204 without a word', async () => {
  const other = closing(await environment.startApi({ REDIS_PREFIX: randomBytes(4).toString('hex') }), (open) =>
    open.stop(),
  );
  const { id } = (await client(other.url, token).create()).body;
  await captureOne(other.url, id);
  const { status, headers } = await next('?timeout=0', other.url, id);
  expect([status, headers['x-captures-pending']]).toEqual([204, '1']);
});

test.each(['after=-1', 'after=x', 'timeout=56', 'timeout=1.5', 'after=1&after=2', 'raw=1'])(
  '400 for %s',
  async (query) => {
    expect((await next(`?${query}`)).status).toBe(400);
  },
);

test('404 for unknown and malformed ids, and as soon as the endpoint is deleted', async () => {
  expect((await next('', url, 'x')).status).toBe(404);
  expect((await next('', url, '01890a5d-ac96-774b-bcce-b302099a8057')).status).toBe(404);
  withoutSafetyNet();
  const waiting = next('?timeout=55', apis[1]?.url, endpointId.toUpperCase());
  await eventually(async () => (await waitsOf(1)) === 1);
  await api.removeEndpoint(endpointId);
  expect((await waiting).status).toBe(404);
});

test('an expired endpoint answers what is stored, and then 410 at once', async () => {
  await captureOne(url, endpointId);
  await environment.drained();
  await environment.db
    .knex('endpoints')
    .where('id', idToBytes(endpointId))
    .update({ expires_at: new Date(Date.now() - 1_000) });
  expect((await next('?timeout=55')).status).toBe(200);
  expect((await next('?after=1&timeout=55')).status).toBe(410);
});

test('a user has 20 waits on a process, until one of them ends', async () => {
  const leaving = new AbortController();
  const address = `${url}/api/endpoints/${endpointId}/requests/next?timeout=55`;
  const wait = (signal: AbortSignal) => fetch(address, { headers: { Authorization: `Bearer ${token}` }, signal });
  const waiting = Array.from({ length: 20 }, () => wait(leaving.signal).catch(() => {}));
  await eventually(async () => (await waitsOf()) === 20);
  const refused = await next();
  expect([refused.status, refused.headers['retry-after'], refused.body.error]).toEqual([
    429,
    '5',
    'You have 20 waits on this process, which is the maximum',
  ]);
  const other = mintToken(`other-${users}`);
  expect((await client(url, other).call('GET', `/api/endpoints/${endpointId}/requests/next`)).status).toBe(404);
  // Who leaves gives the place back long before the time-out.
  leaving.abort();
  await eventually(async () => (await waitsOf()) === 0);
  await Promise.all(waiting);
  expect((await next('?timeout=0')).status).toBe(204);
});

test('a process has 500 waits', async () => {
  const tokens = Array.from({ length: 26 }, (_, i) => mintToken(`many-${i}`));
  const owned = await Promise.all(tokens.map(async (one) => (await client(url, one).create()).body.id));
  const wait = (index: number, timeout: number) =>
    client(url, tokens[index] ?? '').call<{ error: string }>(
      'GET',
      `/api/endpoints/${owned[index]}/requests/next?timeout=${timeout}`,
    );
  const waiting = tokens.slice(0, 25).flatMap((_, index) => Array.from({ length: 20 }, () => wait(index, 55)));
  await eventually(async () => (await waitsOf()) === 500);
  expect((await wait(25, 0)).status).toBe(429);
  await Promise.all(owned.map((id) => captureOne(url, id)));
  expect((await Promise.all(waiting)).filter(({ status }) => status === 200)).toHaveLength(500);
});

test('a client that closes its half, and may be gone, is answered at once', async () => {
  const head = `GET /api/endpoints/${endpointId}/requests/next?timeout=55 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
  const socket = closing(connect({ port: apis[0]?.port ?? 0, host: '127.0.0.1', allowHalfOpen: true }), (open) => {
    open.destroy();
  });
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.write(`${head}\r\n`);
  await eventually(async () => (await waitsOf()) === 1);
  socket.end();
  await eventually(() => answer.startsWith('HTTP/1.1 204'));
  expect(
    await rawExchange(apis[0]?.port ?? 0, `${head}Connection: close\r\n\r\n`.replace('timeout=55', 'timeout=0')),
  ).toMatch(/ 204 /);
});

test('a process that stops answers its waits at once', async () => {
  const stopping = await environment.startApi();
  await captureOne(url, endpointId);
  await environment.drained();
  const waiting = Array.from({ length: 10 }, () => next('?after=1&timeout=55', stopping.url));
  await eventually(
    async () => (await scrape(stopping.internalPort)).value('hookbay_followers', { kind: 'wait' }) === 10,
  );
  await stopping.stop();
  const answers = await Promise.all(waiting);
  expect(answers.map(({ status, headers }) => [status, headers['x-next-after']])).toEqual(
    waiting.map(() => [204, '1']),
  );
});
