import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createShareLookUps } from '../../src/api/auth/share-look-ups.ts';
import { newShareToken } from '../../src/domain/share.ts';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { client, mintToken, send } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';
import { shareEndpoint } from '../support/shares.ts';

const MIB = 1024 * 1024;

let environment: Environment;
let api: RoleProcess;

beforeAll(async () => {
  environment = await openEnvironment();
  api = await startRole('api', { ...environment.env, ANSWER_MAX_BYTES: String(64 * MIB), MYSQL_POOL_SIZE: '4' });
});
afterAll(async () => {
  await api.end();
  await environment.close();
});

/** The statements of one test, counted when they are sent to the database. */
async function countingStatements(work: () => Promise<unknown>): Promise<number> {
  let statements = 0;
  const count = (): void => void (statements += 1);
  environment.db.knex.on('query', count);
  await work();
  environment.db.knex.off('query', count);
  return statements;
}

/** Sends requests for `/api/share` with these tokens, 100 at a time; returns how often each status came. */
async function ask(tokens: string[]): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  const left = [...tokens];
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      for (let token = left.pop(); token !== undefined; token = left.pop()) {
        const { status } = await send(`${api.url}/api/share`, { headers: ['Authorization', `Bearer ${token}`] });
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }),
  );
  return statuses;
}

test('a flood of unknown tokens is 401, and users are served meanwhile [Share link: limits]', async () => {
  const owner = client(api.url, mintToken('ann'));
  const { id } = (await owner.create()).body;
  const users: number[] = [];
  let flooding = true;
  const flood = ask(Array.from({ length: 3_000 }, newShareToken)).finally(() => (flooding = false));
  while (flooding) users.push((await owner.endpoint(id)).status);
  expect(await flood).toEqual({ 401: 3_000 });
  expect(new Set(users)).toEqual(new Set([200]));
});

test('look-ups of tokens share statements, and a token is looked up once for all its holders', async () => {
  const owner = client(api.url, mintToken('ann'));
  const { id, token } = (await shareEndpoint(owner, (await owner.create()).body.id)).body;
  const shares = createShareLookUps({ db: environment.db, poolSize: 10 });
  const find = (tokens: string[]) => Promise.all(tokens.map(async (text) => (await shares.find(text))?.share.id));
  const unknown = newShareToken();

  const many = [token, ...Array.from({ length: 3_000 }, newShareToken)];
  let found: unknown[] = [];
  expect(await countingStatements(async () => (found = await find(many)))).toBeLessThanOrEqual(10);
  expect([found[0], found.filter((share) => share !== undefined)]).toEqual([id, [id]]);
  expect(await countingStatements(() => find([token, unknown]))).toBe(1);
  expect(await countingStatements(() => find(Array<string>(1_000).fill(token)))).toBe(0);
  expect(await countingStatements(() => find(Array<string>(1_000).fill(unknown)))).toBe(0);
  shares.forget(id);
  expect(await countingStatements(() => find(Array<string>(1_000).fill(token)))).toBe(1);
});

test('requests are limited for each link and address; other holders and the owner go on', async () => {
  const limited = await environment.startApi({ API_RATE_LIMIT_PER_MINUTE: '5', TRUST_PROXY_HOPS: '1' });
  const owner = client(limited.url, mintToken('carl'));
  const { id } = (await owner.create()).body;
  const [first, second] = [(await shareEndpoint(owner, id)).body.token, (await shareEndpoint(owner, id)).body.token];
  const list = (token: string, address: string) =>
    send(`${limited.url}/api/endpoints/${id}/requests`, {
      headers: ['Authorization', `Bearer ${token}`, 'X-Forwarded-For', address],
    });
  for (let n = 0; n < 5; n += 1) expect((await list(first, '192.0.2.1')).status).toBe(200);
  const over = await list(first, '192.0.2.1');
  expect([over.status, over.headers['retry-after'], over.headers['ratelimit-policy']]).toEqual([
    429,
    expect.any(String),
    '"share";q=5;w=60',
  ]);
  expect((await list(first, '192.0.2.2')).status).toBe(200);
  expect((await list(second, '192.0.2.1')).status).toBe(200);
  expect((await owner.list(id)).status).toBe(200);
});

test('holders who do not read take no memory from the owner', async () => {
  const owner = client(api.url, mintToken('dora', { plan: 'enterprise' }));
  const { id } = (await owner.create()).body;
  for (let n = 0; n < 40; n += 1) {
    const captures = [makeCapture(id, { userId: 'dora', body: Buffer.alloc(250_000, 120) })];
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-01-01', captures }]);
  }
  const tokens = await Promise.all(Array.from({ length: 10 }, async () => (await shareEndpoint(owner, id)).body.token));
  const held = async (): Promise<number> => (await scrape(api.internalPort)).value('hookbay_answer_bytes') ?? 0;
  const sockets = tokens.flatMap((token) => Array.from({ length: 4 }, () => askAndNotRead(id, token)));
  await eventually(async () => (await held()) > 30 * MIB);
  const refused = await client(api.url, tokens[0] ?? '').list(id, '?limit=200');
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, expect.any(String)]);
  const own = await owner.list(id, '?limit=200');
  expect([own.status, own.body.requests.length]).toEqual([200, 40]);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await held()) === 0);
});

/** Sends a request and reads nothing of the answer. */
function askAndNotRead(endpointId: string, token: string): Socket {
  const socket = closing(connect(api.port, '127.0.0.1'), (open) => void open.destroy());
  socket.pause();
  socket.on('error', () => {});
  const path = `/api/endpoints/${endpointId}/requests?limit=200`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}
