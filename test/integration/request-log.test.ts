import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { captureOne, client, mintToken, send } from '../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

let environment: Environment;
let api: RoleProcess;
let token: string;

beforeAll(async () => {
  environment = await openEnvironment();
  api = await startRole('api', environment.env);
  token = mintToken('ann');
});
afterAll(async () => {
  await api.end();
  await environment.close();
});

/** The lines with a request id, as soon as there are any. */
async function linesOf(requestId: unknown): Promise<Record<string, unknown>[]> {
  const lines = (): Record<string, unknown>[] => api.log.filter((line) => line['requestId'] === requestId);
  await eventually(() => lines().some(({ msg }) => msg === 'Request'));
  return lines();
}

const get = (path: string, requestId?: string) =>
  send(`${api.url}${path}`, {
    headers: ['Authorization', `Bearer ${token}`, ...(requestId === undefined ? [] : ['X-Request-Id', requestId])],
  });

test.each([
  ['GET', '/api/endpoints', '/api/endpoints', 200],
  ['GET', '/api/endpoints/7d444840-9dc0-11d1-b245-5ffdce74fad2', '/api/endpoints/:id', 404],
  ['DELETE', '/api/requests/nonsense', '/api/requests/:id', 404],
  ['PUT', '/api/endpoints', '/api/endpoints', 405],
  ['GET', '/', '/', 200],
  ['GET', '/page/0123/nothing/at-all.js', '/page/:hash/{*file}', 404],
  ['GET', '/nowhere/7d444840', 'other', 404],
])('%s %s is one line with the route %s', async (method, path, route, status) => {
  const answer = await send(`${api.url}${path}`, { method, headers: ['Authorization', `Bearer ${token}`] });
  expect(answer.status).toBe(status);
  const lines = await linesOf(answer.headers['x-request-id']);
  const expected = {
    level: 30,
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    role: 'api',
    requestId: expect.any(String),
    method,
    route,
    status,
    ms: expect.any(Number),
    msg: 'Request',
  };
  expect(lines).toEqual([expected]);
});

test('a request without a token is logged, with the route of its path', async () => {
  const answer = await send(`${api.url}/api/requests/x/body`);
  expect((await linesOf(answer.headers['x-request-id'])).map(({ route, status }) => [route, status])).toEqual([
    ['/api/requests/:id/body', 401],
  ]);
});

test.each(['a', 'A.b_c-9', 'x'.repeat(64)])('takes over the id %j', async (id) => {
  expect((await get('/openapi.json', id)).headers['x-request-id']).toBe(id);
  expect(await linesOf(id)).toHaveLength(1);
});

test.each(['', ' ', 'x'.repeat(65), 'a b', 'a"b', '<b>', 'a\u00e9', 'a,b', '{"level":60}'])(
  'replaces the id %j by a new one',
  async (id) => {
    const answer = await get('/openapi.json', id);
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(await linesOf(answer.headers['x-request-id'])).toHaveLength(1);
  },
);

test('captures have no line and no request id, accepted or refused', async () => {
  const {
    headers: ofCreate,
    body: { id },
  } = await client(api.url, token).create();
  await linesOf(ofCreate['x-request-id']);
  const before = api.log.length;
  await captureOne(api.url, id, { headers: ['X-Request-Id', 'of-the-sender'] });
  const { status, headers } = await send(`${api.url}/h/nobody`, { headers: ['X-Request-Id', 'of-the-sender'] });
  expect([status, headers['x-request-id']]).toEqual([404, undefined]);
  // Lines are in order: the first one after the captures is that of the next management request.
  const last = await get('/openapi.json');
  await linesOf(last.headers['x-request-id']);
  expect(api.log.slice(before).map(({ route }) => route)).toEqual(['/openapi.json']);
});

test('the log line of a request that fails without the database has the cause and the request id of its answer', async () => {
  const lone = await startRole('api', { ...environment.env, MYSQL_PORT: '1' });
  const answer = await send<{ error: string }>(`${lone.url}/api/endpoints`, {
    headers: ['Authorization', `Bearer ${token}`, 'X-Request-Id', 'quote-me'],
  });
  expect([answer.status, answer.headers['x-request-id']]).toEqual([503, 'quote-me']);
  const lines = (): Record<string, unknown>[] => lone.log.filter((line) => line['requestId'] === 'quote-me');
  await eventually(() => lines().length === 2);
  expect(lines()).toMatchObject([
    { level: 40, status: 503, error: { code: 'ECONNREFUSED' }, msg: 'Request failed' },
    { level: 30, route: '/api/endpoints', status: 503, msg: 'Request' },
  ]);
  await lone.end();
});

test('a client that disconnects before its answer has a line with `aborted`', async () => {
  const socket = connect(api.port, '127.0.0.1');
  socket.on('error', () => {});
  // Its body is never sent.
  socket.write(
    `POST /api/endpoints HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nX-Request-Id: gone\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`,
  );
  // The server's 100 Continue shows that it has read the headers.
  await new Promise<void>((resolve) => socket.once('data', () => resolve()));
  socket.destroy();
  expect((await linesOf('gone')).at(-1)).toMatchObject({ route: '/api/endpoints', aborted: true });
});
