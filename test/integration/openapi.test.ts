import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { SHARED_ROUTES } from '../../src/api/auth/share-admission.ts';
import { OPERATIONS } from '../../src/api/management/operations.ts';
import { captureOne, client, mintToken, send, type Answer, type Client } from '../support/client.ts';
import { closing, useEnvironment, type Environment } from '../support/environment.ts';
import { openEvents } from '../support/event-source.ts';
import type { CreatedShare } from '../support/shares.ts';

interface Operation {
  security?: object[];
  parameters?: { name: string; schema: object }[];
  responses: Record<string, { content: Record<string, { schema?: object }> }>;
  requestBody?: { content: { 'application/json': { schema: object; example: unknown } } };
}

interface Document {
  openapi: string;
  components: { schemas: object };
  paths: Record<string, Record<string, Operation>>;
}

let environment: Environment;
let url: string;
let owner: Client;
let document: Document;
let ajv: Ajv2020;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi({
    PLANS: '{"pro":{"dailyRequests":12,"maxRequestSize":1000,"permanentEndpoints":1}}',
  }));
  owner = client(url, mintToken('ann'));
  document = (await send<Document>(`${url}/openapi.json`)).body;
  ajv = new Ajv2020({ strict: false });
  (addFormats as unknown as (instance: Ajv2020) => void)(ajv);
  ajv.addSchema({ $id: 'doc', ...document });
});

const seen = new Set<string>();

/** Expects an answer to match the document. */
function hold(method: string, path: string, answer: Answer): void {
  const response = document.paths[path]?.[method]?.responses[answer.status];
  expect([method, path, answer.status, response !== undefined]).toEqual([method, path, answer.status, true]);
  seen.add(`${method} ${path} ${answer.status}`);
  if (answer.status === 204) return expect([response?.content, answer.bytes.length]).toEqual([undefined, 0]);
  const content = response?.content ?? {};
  const mediaType = answer.headers['content-type']?.split(';')[0] ?? '';
  expect(Object.keys(content)).toContain(mediaType);
  const schema = content[mediaType]?.schema;
  if (schema === undefined) return;
  const inDocument = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/')) as object;
  const validate = ajv.compile(inDocument);
  expect([method, path, answer.status, validate(answer.body), validate.errors]).toEqual([
    method,
    path,
    answer.status,
    true,
    null,
  ]);
}

test('every route answers as documented, errors too [OpenAPI]', async () => {
  expect(document.openapi).toBe('3.1.0');
  hold('get', '/openapi.json', await send(`${url}/openapi.json`));
  hold('get', '/listen.mjs', await send(`${url}/listen.mjs`));
  const created = await owner.create({ alias: 'a-hook', permanent: true });
  hold('post', '/api/endpoints', created);
  const { id } = created.body;
  for (const body of ['{"alias":1}', '[', `{"alias":"${'x'.repeat(70_000)}"}`])
    hold('post', '/api/endpoints', await owner.create(body));
  hold('post', '/api/endpoints', await owner.create({ alias: 'a-hook' }));
  hold('post', '/api/endpoints', await owner.create({ permanent: true }));
  hold(
    'post',
    '/h/{key}',
    await send(`${url}/h/${id}?a=1&a=2`, { method: 'POST', body: 'x', headers: ['Content-Type', 'a/b'] }),
  );
  hold('get', '/h/{key}', await send(`${url}/h/a-hook`));
  hold('get', '/h/{key}', await send(`${url}/h/unknown`));
  hold('post', '/h/{key}', await send(`${url}/h/${id}`, { method: 'POST', body: 'x'.repeat(1001) }));
  const { id: entry } = await captureOne(url, id, {
    body: Buffer.from([0xff]),
    headers: ['X-Hub-Signature-256', 'sha256=0'],
  });
  hold('get', '/api/endpoints', await owner.endpoints());
  hold('get', '/api/endpoints', await owner.endpoints(`?limit=1&offset=1&before=${id}`));
  hold('get', '/api/endpoints', await owner.endpoints('?limit=0'));
  hold('get', '/api/endpoints/{id}', await owner.endpoint(id));
  hold('get', '/api/endpoints/{id}', await owner.endpoint('unknown'));
  hold('get', '/api/endpoints/{id}/requests', await owner.list(id));
  hold('get', '/api/endpoints/{id}/requests', await owner.list(id, '?limit=0'));
  for (const query of ['?q=abc', '?json=$.a=1&header=host&path=/', '?method=GET', '?since=2026-01-01&raw=true', '?q=a'])
    hold('get', '/api/endpoints/{id}/requests', await owner.list(id, query));
  hold('get', '/api/endpoints/{id}/requests', await owner.list('unknown'));
  const response = (method: string, key: string, body?: unknown): Promise<void> =>
    owner
      .call(method, `/api/endpoints/${key}/response`, body)
      .then((answer) => hold(method.toLowerCase(), '/api/endpoints/{id}/response', answer));
  await response('PUT', id, { status: 200, delayMs: 1 });
  for (const body of [{}, '[', { status: 302 }, { status: 200, body: 'x'.repeat(70_000) }])
    await response('PUT', id, body);
  for (const method of ['GET', 'DELETE', 'GET']) await response(method, id);
  for (const method of ['PUT', 'GET', 'DELETE']) await response(method, 'unknown', { status: 200 });
  const next = (query: string, of = id): Promise<Answer> =>
    owner.call('GET', `/api/endpoints/${of}/requests/next?timeout=0&${query}`);
  for (const query of ['after=0', 'raw=true', 'after=99', 'after=x'])
    hold('get', '/api/endpoints/{id}/requests/next', await next(query));
  hold('get', '/api/endpoints/{id}/requests/next', await next('', 'unknown'));
  const stream = closing(await openEvents(`${url}/api/endpoints/${id}/events`, mintToken('ann')), (open) => {
    open.close();
  });
  const body = { status: stream.status, headers: stream.headers, body: '', bytes: Buffer.alloc(0) };
  hold('get', '/api/endpoints/{id}/events', body);
  for (const path of [`${id}/events?after=x`, 'unknown/events'])
    hold('get', '/api/endpoints/{id}/events', await owner.call('GET', `/api/endpoints/${path}`));
  for (const path of [`${id}/activity`, `${id}/activity?minutes=0`, 'unknown/activity'])
    hold('get', '/api/endpoints/{id}/activity', await owner.call('GET', `/api/endpoints/${path}`));
  hold('get', '/api/requests/{id}', await owner.entry(entry));
  hold('get', '/api/requests/{id}', await owner.entry(entry, '?raw=true'));
  hold('get', '/api/requests/{id}', await owner.entry(entry, '?raw=1'));
  hold('get', '/api/requests/{id}', await owner.entry(entry, '?bodyBytes=0'));
  hold('get', '/api/requests/{id}', await owner.entry('unknown'));
  hold('get', '/api/requests/{id}/body', await owner.body(entry));
  hold('get', '/api/requests/{id}/body', await owner.body('unknown'));
  for (const format of ['ndjson', 'har', 'csv', 'xml'])
    hold('get', '/api/endpoints/{id}/export', await owner.call('GET', `/api/endpoints/${id}/export?format=${format}`));
  hold('get', '/api/endpoints/{id}/export', await owner.call('GET', '/api/endpoints/unknown/export?format=csv'));
  for (const format of ['curl', 'har', 'http', 'xml'])
    hold('get', '/api/requests/{id}/export', await owner.call('GET', `/api/requests/${entry}/export?format=${format}`));
  hold('get', '/api/requests/{id}/export', await owner.call('GET', '/api/requests/unknown/export?format=curl'));
  hold('post', '/api/requests/{id}/verify', await owner.call('POST', `/api/requests/${entry}/verify`, { secret: 's' }));
  hold('post', '/api/requests/{id}/verify', await owner.call('POST', `/api/requests/${entry}/verify`, {}));
  hold('post', '/api/requests/{id}/verify', await owner.call('POST', '/api/requests/unknown/verify', { secret: 's' }));
  await holdShares(id, entry);
  hold('delete', '/api/requests', await owner.removeMany([entry]));
  hold('delete', '/api/requests', await owner.removeMany([]));
  hold('delete', '/api/requests/{id}', await owner.remove(entry));
  hold('delete', '/api/requests/{id}', await owner.remove((await captureOne(url, id)).id));
  for (let n = 0; n < 12; n += 1) await send(`${url}/h/${id}`, { method: 'POST' });
  hold('post', '/h/{key}', await send(`${url}/h/${id}`, { method: 'POST' }));
  hold('delete', '/api/endpoints/{id}', await owner.removeEndpoint(id));
  hold('delete', '/api/endpoints/{id}', await owner.removeEndpoint(id));
  const example = document.paths['/api/verify-signature']?.['post']?.requestBody?.content['application/json'].example;
  hold('post', '/api/verify-signature', await owner.call('POST', '/api/verify-signature', example));
  hold('post', '/api/verify-signature', await owner.call('POST', '/api/verify-signature', {}));
  hold('get', '/api/endpoints', await client(url, 'x').endpoints());
  hold('get', '/api/endpoints', await client(url, mintToken('ann', { plan: 'unknown' })).endpoints());

  // Every success and every 404 of the document occurred.
  const promised = OPERATIONS.flatMap(({ method, path, answers }) =>
    Object.keys(answers).map((status) => `${method} ${path} ${status}`),
  );
  expect(
    promised.filter((line) => /(200|201|204|404)$/.test(line) && line !== 'post /h/{key} 404' && !seen.has(line)),
  ).toEqual([]);
});

async function holdShares(id: string, entry: string): Promise<void> {
  hold('get', '/s', await send(`${url}/s`));
  for (const [path, target] of [
    ['/api/endpoints/{id}/shares', id],
    ['/api/requests/{id}/shares', entry],
  ] as const) {
    const created = await owner.call<CreatedShare>('POST', path.replace('{id}', target), { label: 'x' });
    hold('post', path, created);
    hold('post', path, await owner.call('POST', path.replace('{id}', target), { expiresIn: 0 }));
    hold('post', path, await owner.call('POST', path.replace('{id}', 'unknown')));
    hold('get', path, await owner.call('GET', path.replace('{id}', target)));
    hold('get', path, await owner.call('GET', path.replace('{id}', 'unknown')));
    const holder = client(url, created.body.token);
    hold('get', '/api/share', await holder.call('GET', '/api/share'));
    hold('get', '/api/requests/{id}', await holder.entry(entry));
    hold('get', '/api/endpoints', await holder.endpoints());
    hold('delete', '/api/shares/{id}', await owner.call('DELETE', `/api/shares/${created.body.id}`));
    hold('delete', '/api/shares/{id}', await owner.call('DELETE', `/api/shares/${created.body.id}`));
    hold('get', '/api/requests/{id}', await holder.entry(entry));
  }
  const security = ({ path, method }: { path: string; method: string }) => document.paths[path]?.[method]?.security;
  const open = OPERATIONS.filter((operation) => security(operation)?.length === 2).map(({ path }) => path);
  expect(open.map((path) => path.replace('{id}', ':id')).toSorted()).toEqual(Object.keys(SHARED_ROUTES).toSorted());
}

test('examples of request bodies are valid by their own schemas', () => {
  for (const operations of Object.values(document.paths)) {
    for (const { requestBody } of Object.values(operations)) {
      if (requestBody === undefined) continue;
      const { schema, example } = requestBody.content['application/json'];
      expect([example, ajv.validate(schema, example)]).toEqual([example, true]);
    }
  }
});

const UUID = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const VERIFY = { provider: 'github', payload: 'p', signature: 's', secret: 's' };
const CREATE = ['post', '/api/endpoints'] as const;
const BATCH = ['delete', '/api/requests'] as const;
const CHECK = ['post', '/api/verify-signature'] as const;

test.each<[string, readonly [string, string], unknown, boolean]>([
  ['an alias of 3', CREATE, { alias: 'abc' }, true],
  ['an alias of 48', CREATE, { alias: 'x'.repeat(48) }, true],
  ['an alias of 2', CREATE, { alias: 'ab' }, false],
  ['an alias of 49', CREATE, { alias: 'x'.repeat(49) }, false],
  ['an alias in capitals', CREATE, { alias: 'ABC' }, false],
  ['an alias with a hyphen at its end', CREATE, { alias: 'abc-' }, false],
  ['an unknown field', CREATE, { name: 'x' }, false],
  ['an id', BATCH, { ids: [UUID] }, true],
  ['an id in capitals', BATCH, { ids: [UUID.toUpperCase()] }, true],
  ['an id of no version', BATCH, { ids: ['00000000-0000-0000-0000-00000000000f'] }, true],
  ['an id without hyphens', BATCH, { ids: [UUID.replaceAll('-', '')] }, false],
  ['1,000 ids', BATCH, { ids: Array(1_000).fill(UUID) }, true],
  ['1,001 ids', BATCH, { ids: Array(1_001).fill(UUID) }, false],
  ['a signature of 4,096', CHECK, { ...VERIFY, signature: 'x'.repeat(4_096) }, true],
  ['a signature of 4,097', CHECK, { ...VERIFY, signature: 'x'.repeat(4_097) }, false],
  ['a secret of 4,097', CHECK, { ...VERIFY, secret: 'x'.repeat(4_097) }, false],
  ['a timestamp of 4,097', CHECK, { ...VERIFY, timestamp: 'x'.repeat(4_097) }, false],
  ['a payload of 1 MiB', CHECK, { ...VERIFY, payload: 'x'.repeat(1_048_576) }, true],
  ['a payload of 1 MiB and 1', CHECK, { ...VERIFY, payload: 'x'.repeat(1_048_577) }, false],
])('the document and the route agree on %s', async (_name, [method, path], body, fine) => {
  const schema = document.paths[path]?.[method]?.requestBody?.content['application/json'].schema;
  expect(ajv.validate(schema as object, body)).toBe(fine);
  const { status } = await client(url, mintToken('eve')).call(method.toUpperCase(), path, body);
  expect(fine ? [200, 201] : [400, 413]).toContain(status);
});

test.each<[string, unknown, boolean]>([
  ['limit', 1, true],
  ['limit', 0, false],
  ['limit', 201, true],
  ['limit', 1.5, false],
  ['limit', -1, false],
  ['limit', 10 ** 15, false],
  ['offset', 0, true],
  ['offset', 10 ** 15 - 1, true],
  ['offset', -1, false],
  ['before', UUID, true],
  ['before', 'x', false],
  ['method', 'GET,PUT', true],
  ['path', '/a', true],
  ['q', 'abc', true],
  ['header', 'a:b', true],
  ['json', '$.a=1', true],
  ['since', '2026-11-22T10:00:00Z', true],
  ['until', '2026-11-22', true],
  ['until', 'x', false],
  ['raw', true, true],
  ['raw', 1, false],
  ['bodyBytes', 0, true],
  ['bodyBytes', 262_144, true],
  ['bodyBytes', 262_145, false],
  ['bodyBytes', -1, false],
  ['bodyBytes', 1.5, false],
])('the document and the list agree on the query %s=%j', async (name, value, fine) => {
  const { parameters } = document.paths['/api/endpoints/{id}/requests']?.['get'] ?? {};
  const query = parameters?.find((parameter) => parameter.name === name);
  expect(ajv.validate(query?.schema as object, value)).toBe(fine);
  const user = client(url, mintToken('eve'));
  const { id } = (await user.create()).body;
  expect((await user.list(id, `?${name}=${String(value)}`)).status).toBe(fine ? 200 : 400);
});

test('path parameters are described, and the defaults of queries', () => {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const parameters = operations.flatMap((operation) => operation.parameters ?? []);
  expect(parameters.filter(({ name }) => name === 'id').length).toBeGreaterThan(5);
  for (const { name, schema } of parameters) {
    if (name === 'id') expect(schema).toMatchObject({ type: 'string', format: 'uuid' });
    if (name === 'key') {
      const keys = [UUID, 'my-hook', 'a b', 'x'.repeat(49)];
      expect(keys.map((key) => ajv.validate(schema, key))).toEqual([true, true, false, false]);
    }
    if (name === 'limit') expect(schema).toMatchObject({ type: 'integer', default: expect.any(Number), minimum: 1 });
    if (name === 'offset') expect(schema).toMatchObject({ type: 'integer', default: 0, minimum: 0 });
  }
  const defaultLimit = (path: string): unknown =>
    document.paths[path]?.['get']?.parameters?.find(({ name }) => name === 'limit')?.schema;
  expect(defaultLimit('/api/endpoints/{id}/requests')).toMatchObject({ default: 50 });
  expect(defaultLimit('/api/endpoints')).toMatchObject({ default: 1_000 });
});

test('routes and document are the same set, and so are the routes that need a token', async () => {
  for (const { method, path, guarded } of OPERATIONS) {
    const answer = await send(url + path.replace('{key}', 'unknown').replace('{id}', 'unknown'), {
      method: method.toUpperCase(),
      headers: ['Content-Type', 'application/json'],
      body: '{}',
    });
    expect([method, path, answer.status === 405, answer.status === 401]).toEqual([method, path, false, guarded]);
    // Other routes of the router are not in the document either.
    const allow = (await send(url + path.replace('{id}', 'unknown'), { method: 'OPTIONS' })).headers.allow;
    if (allow === undefined) continue;
    const documented = OPERATIONS.filter((operation) => operation.path === path).map((operation) =>
      operation.method.toUpperCase(),
    );
    expect([
      path,
      allow
        .split(', ')
        .filter((name) => name !== 'HEAD')
        .toSorted(),
    ]).toEqual([path, documented.toSorted()]);
  }
});
