import { describe, expect, test } from 'vitest';
import type { CustomResponseRecord } from '../../src/domain/answers.ts';
import { captureOne, client, mintToken, rawExchange, send, type Answer, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';

let environment: Environment;
let url: string;
let port: number;
let owner: Client;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url, port } = await environment.startApi({ PLANS: '{"small":{"maxRequestSize":100,"dailyRequests":1}}' }));
  owner = client(url, mintToken('ann'));
});

type Input = Partial<CustomResponseRecord>;

const put = (id: string, body: unknown, user = owner): Promise<Answer<CustomResponseRecord & { error?: string }>> =>
  user.call('PUT', `/api/endpoints/${id}/response`, body);

/** A new endpoint with a custom response. */
async function endpointWith(response: Input): Promise<string> {
  const { id } = (await owner.create()).body;
  expect((await put(id, { status: 200, ...response })).status).toBe(200);
  return id;
}

const GUARD = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

describe('PUT, GET and DELETE of a response', () => {
  test('change what the sender gets; the request is captured all the same [Custom response]', async () => {
    const { id } = (await owner.create()).body;
    const path = `/api/endpoints/${id}/response`;
    expect(await owner.call('GET', path)).toMatchObject({
      status: 404,
      body: { error: 'This endpoint answers with the receipt' },
    });
    const response = { status: 418, headers: { 'X-Pot': 'tea' }, body: '{"short":"stöut"}', delayMs: 1 };
    const stored = {
      ...response,
      bodyEncoding: 'utf8',
      headers: { 'X-Pot': 'tea', 'Content-Type': 'application/json' },
    };
    expect(await put(id, response)).toMatchObject({ status: 200, body: stored });
    expect((await owner.call('GET', path)).body).toEqual(stored);
    const records = async () => [(await owner.endpoint(id)).body, (await owner.endpoints()).body.endpoints[0]];
    expect(await records()).toMatchObject([{ custom_response: true }, { id, custom_response: true }]);

    const answer = await send(`${url}/h/${id}/below?a=1`, { method: 'POST', body: 'hello' });
    expect(answer).toMatchObject({ status: 418, body: { short: 'stöut' } });
    expect(answer.headers).toMatchObject({ ...GUARD, 'x-pot': 'tea', 'content-type': 'application/json' });
    const captured = await owner.entry(String(answer.headers['x-hookbay-request-id']));
    expect(captured.body).toMatchObject({ endpoint_id: id, body: 'hello' });

    expect(await owner.call('DELETE', path)).toMatchObject({ status: 200, body: { success: true } });
    expect((await owner.call('DELETE', path)).status).toBe(200);
    expect((await owner.call('GET', path)).status).toBe(404);
    for (const record of await records()) expect(record).not.toHaveProperty('custom_response');
    const { id: receipt } = await captureOne(url, id);
    expect((await owner.list(id)).body.requests.map((entry) => entry.id)).toEqual([receipt, captured.body.id]);
  });

  test('a receipt carries its id in a header as well [`X-Hookbay-Request-Id`]', async () => {
    const { id } = (await owner.create()).body;
    const answer = await send<{ id: string }>(`${url}/h/${id}`, { method: 'POST' });
    expect(answer.headers).toMatchObject({ ...GUARD, 'x-hookbay-request-id': answer.body.id });
  });

  test.each([
    ['GET', undefined],
    ['PUT', { status: 200 }],
    ['DELETE', undefined],
  ])('%s of unknown, malformed and foreign ids is one 404', async (method, body) => {
    const foreign = (await client(url, mintToken('eve')).create()).body.id;
    for (const id of [foreign, 'unknown', '7c9e6679-7425-40de-944b-e07fc1f90ae7', "1' OR '1'='1"]) {
      const answer = await owner.call(method, `/api/endpoints/${encodeURIComponent(id)}/response`, body);
      expect([id, answer.status, answer.bytes.toString()]).toEqual([id, 404, '{"error":"Not found"}']);
    }
    expect((await send(`${url}/h/${foreign}`)).body).toHaveProperty('received', true);
  });

  test('an id in upper case is the same endpoint', async () => {
    const { id } = (await owner.create()).body;
    expect((await put(id.toUpperCase(), { status: 202 })).status).toBe(200);
    expect((await send(`${url}/h/${id}`)).status).toBe(202);
  });
});

const base64 = (bytes: number): Input => ({
  body: Buffer.alloc(bytes, 0xff).toString('base64'),
  bodyEncoding: 'base64',
});
const headersOf = (count: number, length: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_none, n) => [`X-${n}`.padEnd(6, 'x'), 'v'.repeat(length - 6)]));

describe('limits', () => {
  test.each<[string, unknown]>([
    ['a body of 16 KiB', { status: 200, ...base64(16_384) }],
    ['20 headers', { status: 200, headers: headersOf(20, 10) }],
    ['8 KiB of headers', { status: 200, headers: headersOf(16, 512) }],
    ['a delay of 10 s', { status: 200, delayMs: 10_000 }],
    ['the least and the largest status', { status: 599 }],
    ['a status that nobody has defined', { status: 299, body: 'x' }],
    ['201 with Location', { status: 201, headers: { Location: '/orders/1' } }],
  ])('%s is taken', async (_name, body) => {
    const { id } = (await owner.create()).body;
    expect(await put(id, body)).toMatchObject({ status: 200, body });
  });

  test.each<[string, unknown, string]>([
    ['a body of 16 KiB and 1', { status: 200, ...base64(16_385) }, 'body: has more than 16384 bytes'],
    ['the same as UTF-8', { status: 200, body: 'ö'.repeat(8_193) }, 'body: has more than 16384 bytes'],
    ['21 headers', { status: 200, headers: headersOf(21, 10) }, 'headers: there are more than 20'],
    ['over 8 KiB of headers', { status: 200, headers: headersOf(16, 513) }, 'headers: they have more than 8192 bytes'],
    ['a delay over 10 s', { status: 200, delayMs: 10_001 }, 'delayMs: '],
    ['a negative delay', { status: 200, delayMs: -1 }, 'delayMs: '],
    ['half a millisecond', { status: 200, delayMs: 0.5 }, 'delayMs: '],
    ['status 199', { status: 199 }, 'status: '],
    ['status 600', { status: 600 }, 'status: '],
    ['no status', {}, 'status: '],
    ['no body at all', undefined, ''],
    ['an unknown field', { status: 200, template: 'x' }, 'Unrecognized key: "template"'],
    ['a number as header', { status: 200, headers: { a: 1 } }, 'headers.a: '],
    ['204 with a body', { status: 204, body: 'x' }, 'body: an answer of 204 has none'],
    ['205 with a body', { status: 205, body: 'x' }, 'body: an answer of 205 has none'],
    ['304 with a body', { status: 304, body: 'x' }, 'body: an answer of 304 has none'],
    ['what is not Base64', { status: 200, body: 'a?', bodyEncoding: 'base64' }, 'body: is not Base64'],
    ['Base64 without padding', { status: 200, body: 'YQ', bodyEncoding: 'base64' }, 'body: is not Base64'],
    ['half a surrogate pair', { status: 200, body: '\ud800' }, 'body: has half'],
    ['a header twice', { status: 200, headers: { 'X-A': '1', 'x-a': '2' } }, 'headers: a name is there twice'],
    ['a header name with a space', { status: 200, headers: { 'X A': '1' } }, 'headers: "X A" is not a header'],
    ['an empty header name', { status: 200, headers: { '': '1' } }, 'headers: "" is not a header'],
    ['a header beyond Latin-1', { status: 200, headers: { 'X-A': '€' } }, 'headers: "X-A" is not a header'],
  ])('%s is a 400', async (_name, body, error) => {
    const { id } = (await owner.create()).body;
    const answer = await put(id, body);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(error)]);
    expect((await send(`${url}/h/${id}`)).body).toHaveProperty('received', true);
  });

  test("a client's own words in an error are cut", async () => {
    const { id } = (await owner.create()).body;
    for (const headers of [{ ['x'.repeat(9_000)]: 1 }, { [`proxy-${'x'.repeat(4_000)}`]: '1' }])
      expect((await put(id, { status: 200, headers })).body.error?.length).toBeLessThan(200);
  });

  test.each(['\r\nSet-Cookie: a=b', '\nX: y', '\r\n\r\n<script>', '\0', 'a\u{7f}'])(
    'no header can be injected by the value %j',
    async (value) => {
      const { id } = (await owner.create()).body;
      for (const headers of [{ 'X-A': `1${value}` }, { [`X-A${value}`]: '1' }])
        expect((await put(id, { status: 200, headers })).status).toBe(400);
    },
  );

  test.each(
    `Set-Cookie set-cookie2 Clear-Site-Data Refresh Content-Length Transfer-Encoding Connection Keep-Alive
    Proxy-Authenticate TE Trailer Upgrade Date Host Content-Security-Policy Content-Security-Policy-Report-Only
    X-Content-Type-Options Strict-Transport-Security Alt-Svc Service-Worker-Allowed NEL Report-To
    Reporting-Endpoints WWW-Authenticate Referrer-Policy Cross-Origin-Opener-Policy X-Hookbay-Request-Id Accept-CH
    Set-Login Use-As-Dictionary Secure-Session-Registration Speculation-Rules`.split(/\s+/),
  )('the header %s is refused', async (name) => {
    const { id } = (await owner.create()).body;
    expect(await put(id, { status: 200, headers: { [name]: '*' } })).toMatchObject({
      status: 400,
      body: { error: `headers: "${name}" is set by the server, or not at all` },
    });
  });
});

describe('what is sent', () => {
  test.each([
    ['JSON', '{"a":[1]}', 'application/json'],
    ['text', 'hi', 'text/plain; charset=utf-8'],
    ['HTML', '<script>alert(1)</script>', 'text/plain; charset=utf-8'],
    ['nothing', '', undefined],
  ])('%s has its type by default, never that of HTML', async (_name, body, type) => {
    const answer = await send(`${url}/h/${await endpointWith({ body })}`);
    expect([answer.headers['content-type'], answer.headers['content-length']]).toEqual([type, String(body.length)]);
  });

  test('any bytes, with any type, and its own Cache-Control', async () => {
    const bytes = Buffer.from([0, 0xff, 0x80, 0x0a]);
    const headers = { 'content-type': 'image/x-icon', 'Cache-Control': 'max-age=60' };
    const id = await endpointWith({ status: 203, body: bytes.toString('base64'), bodyEncoding: 'base64', headers });
    const answer = await send(`${url}/h/${id}`);
    expect(answer.bytes).toEqual(bytes);
    expect(answer.headers).toMatchObject({ 'content-type': 'image/x-icon', 'cache-control': 'max-age=60' });
  });

  test.each([
    [204, undefined],
    [205, '0'],
    [304, undefined],
  ])('%d has no body and no type, and the connection goes on', async (status, length) => {
    const id = await endpointWith({ status, headers: { ETag: '"1"' } });
    const one = `POST /h/${id} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n`;
    const reply = await rawExchange(port, `${one}\r\n${one}Connection: close\r\n\r\n`);
    expect([...reply.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, code]) => code)).toEqual([`${status}`, `${status}`]);
    expect(reply.match(/^ETag: "1"\r$/gm)).toHaveLength(2);
    expect(reply).not.toMatch(/^Content-Type/im);
    expect(/^Content-Length: (.*)\r$/im.exec(reply)?.[1]).toBe(length);
    expect(reply.endsWith('\r\n\r\n')).toBe(true);
  });

  test('HEAD has the headers of the answer, its length too, and no body', async () => {
    const id = await endpointWith({ body: 'hello' });
    const reply = await rawExchange(port, `HEAD /h/${id} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK.*Content-Length: 5\r\n.*\r\n\r\n$/s);
  });

  test('HTTP/1.0 gets a length, and its connection is closed, or kept as it wants', async () => {
    const id = await endpointWith({ status: 299, body: 'hello' });
    expect(await rawExchange(port, `GET /h/${id} HTTP/1.0\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 299 .*Content-Length: 5\r\n.*Connection: close\r\n\r\nhello$/s,
    );
    const kept = `GET /h/${id} HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /h/${id} HTTP/1.0\r\n\r\n`;
    expect((await rawExchange(port, kept)).match(/hello/g)).toHaveLength(2);
  });

  test('a preflight gets the receipt with CORS headers and no delay, any other OPTIONS the response', async () => {
    const id = await endpointWith({ status: 500, body: 'no', delayMs: 10_000 });
    const headers = ['Origin', 'https://a.example', 'Access-Control-Request-Method', 'PUT'];
    const preflight = await send(`${url}/h/${id}`, { method: 'OPTIONS', headers });
    expect(preflight).toMatchObject({ status: 200, body: { received: true } });
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'PUT',
    });
    expect((await put(id, { status: 500, body: 'no' })).status).toBe(200);
    const plain = await send(`${url}/h/${id}`, { method: 'OPTIONS' });
    expect(plain).toMatchObject({ status: 500, body: 'no' });
    expect(plain.headers['access-control-allow-methods']).toBeUndefined();
    expect((await owner.list(id)).body.requests.map(({ method }) => method)).toEqual(['OPTIONS', 'OPTIONS']);
  });

  test("Slack's challenge is answered by the receipt alone", async () => {
    const id = await endpointWith({ body: 'mine' });
    const body = '{"type":"url_verification","challenge":"c"}';
    expect((await send(`${url}/h/${id}`, { method: 'POST', body })).body).toBe('mine');
  });

  test('an alias has the response of its endpoint', async () => {
    const { id } = (await owner.create({ alias: 'with-response' })).body;
    expect((await put(id, { status: 202 })).status).toBe(200);
    expect((await send(`${url}/h/with-response`)).status).toBe(202);
  });
});

describe('refusals stay ours, whatever the response', () => {
  const refused = (answer: Answer, status: number): void => {
    expect(answer).toMatchObject({ status, body: { error: expect.any(String) } });
    expect(answer.headers).toMatchObject({ ...GUARD, 'x-hookbay-request-id': 'none' });
  };

  test('413, 429 and 410', async () => {
    const user = client(url, mintToken('small', { plan: 'small' }));
    const { id } = (await user.create()).body;
    expect((await put(id, { status: 500, body: 'mine' }, user)).status).toBe(200);
    refused(await send(`${url}/h/${id}`, { method: 'POST', body: 'x'.repeat(101) }), 413);
    expect((await send(`${url}/h/${id}`)).body).toBe('mine');
    refused(await send(`${url}/h/${id}`), 429);
    await environment.db
      .knex('endpoints')
      .where({ user_id: 'small' })
      .update({ expires_at: new Date(0) });
    const { prefix } = environment.config.redis;
    await environment.redis.del(`${prefix}:endpoint:${id}`);
    await environment.redis.publish(`${prefix}:invalidate`, '');
    await eventually(async () => (await send(`${url}/h/${id}`)).status === 410);
    refused(await send(`${url}/h/${id}`), 410);
  });

  test('404, 400, and what cannot be parsed [Security headers below `/h`]', async () => {
    refused(await send(`${url}/h/nobody`), 404);
    refused(await send(`${url}/h`), 404);
    for (const bytes of [
      'GET /h/a HTTP/1.1\r\nConnection: close\r\n\r\n',
      'GET /h/a NONSENSE\r\n\r\n',
      `GET /h/a HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
    ]) {
      const reply = (await rawExchange(port, bytes)).toLowerCase();
      expect(reply).toMatch(/^http\/1\.1 4\d\d /);
      for (const [name, value] of Object.entries(GUARD)) expect(reply).toContain(`${name}: ${value}\r\n`);
    }
  });

  test('503, as long as the capture cannot be kept', async () => {
    const proxy = closing(await startProxy(environment.config.redis.port), (open) => open.close());
    const api = await environment.startApi({ REDIS_PORT: String(proxy.port) });
    const id = await endpointWith({ body: 'mine' });
    expect((await send(`${api.url}/h/${id}`)).body).toBe('mine');
    proxy.refuseNew();
    proxy.breakExisting();
    await eventually(async () => (await send(`${api.url}/h/${id}`)).status === 503);
    refused(await send(`${api.url}/h/${id}`), 503);
    proxy.takeNew();
    await eventually(async () => (await send(`${api.url}/h/${id}`)).body === 'mine');
    await api.stop();
  });
});

describe('CUSTOM_RESPONSES', () => {
  const redirect = { status: 302, headers: { Location: 'https://elsewhere.example/' } };

  test('safe, the default, takes and sends no redirects; with off none are taken or sent', async () => {
    const [free, off] = [
      await environment.startApi({ CUSTOM_RESPONSES: 'redirects' }),
      await environment.startApi({ CUSTOM_RESPONSES: 'off' }),
    ];
    const { id } = (await owner.create()).body;
    for (const status of [300, 301, 302, 303, 305, 307, 308, 399])
      expect(await put(id, { ...redirect, status })).toMatchObject({
        status: 403,
        body: { error: 'This installation sends no redirects' },
      });
    expect((await put(id, redirect, client(free.url, mintToken('ann')))).status).toBe(200);
    expect(await send(`${free.url}/h/${id}`)).toMatchObject({
      status: 302,
      headers: { location: 'https://elsewhere.example/' },
    });
    for (const api of [url, off.url])
      await eventually(async () => (await send<{ received?: boolean }>(`${api}/h/${id}`)).body.received === true);

    expect((await put(id, { status: 204 })).status).toBe(200);
    expect(await send(`${off.url}/h/${id}`)).toMatchObject({ status: 200, body: { received: true } });
    const offOwner = client(off.url, mintToken('ann'));
    expect(await put(id, { status: 204 }, offOwner)).toMatchObject({
      status: 403,
      body: { error: 'This installation sends no custom responses' },
    });
    expect((await offOwner.call('GET', `/api/endpoints/${id}/response`)).status).toBe(200);
    expect((await offOwner.call('DELETE', `/api/endpoints/${id}/response`)).status).toBe(200);
    await Promise.all([free.stop(), off.stop()]);
  });
});

describe('CAPTURE_BASE_URL', () => {
  test('captures are answered at its host alone, and everything else elsewhere [`CAPTURE_BASE_URL`]', async () => {
    const api = await environment.startApi({ CAPTURE_BASE_URL: 'https://In.example.net/x/' });
    const created = (await client(api.url, mintToken('ann')).create({ alias: 'split-hosts' })).body;
    expect(created).toMatchObject({
      url: `https://In.example.net/x/h/${created.id}`,
      aliasUrl: 'https://In.example.net/x/h/split-hosts',
    });
    const at = async (host: string, path: string): Promise<number> => {
      const reply = await rawExchange(api.port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      return Number(/^HTTP\/1\.1 (\d+)/.exec(reply)?.[1]);
    };
    for (const host of ['in.example.net', 'IN.example.net:8443', 'in.example.net.', 'in.example.net.:80'])
      for (const [path, status] of [
        [`/h/${created.id}`, 200],
        ['/api/endpoints', 404],
        ['/openapi.json', 404],
        ['/socket.io/?EIO=4&transport=websocket', 400],
        ['/', 404],
      ] as const)
        expect([host, path, await at(host, path)]).toEqual([host, path, status]);
    const upgrade =
      'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==';
    const socket = `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: in.example.net\r\n${upgrade}\r\n\r\n`;
    expect(await rawExchange(api.port, socket)).toMatch(/^HTTP\/1\.1 4/);
    for (const host of ['hooks.example.com', 'x.in.example.net', 'in.example.net.evil', '127.0.0.1'])
      for (const [path, status] of [
        [`/h/${created.id}`, 404],
        ['/api/endpoints', 401],
        ['/openapi.json', 200],
      ] as const)
        expect([host, path, await at(host, path)]).toEqual([host, path, status]);
    const { servers, paths } = (
      await send<{ servers: object[]; paths: Record<string, Record<string, object>> }>(`${api.url}/openapi.json`)
    ).body;
    expect(servers).toEqual([{ url: 'https://hooks.example.com' }]);
    expect(paths['/h/{key}']?.['post']).toMatchObject({ servers: [{ url: 'https://In.example.net/x' }] });
    await api.stop();
  });
});
