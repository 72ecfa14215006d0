import { connect } from 'node:net';
import { METHODS } from 'node:http';
import { describe, expect, test } from 'vitest';
import { idToBytes } from '../../src/domain/ids.ts';
import { captureOne, client, mintToken, rawExchange, send, type Client, type Receipt } from '../support/client.ts';
import { eventually, useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
let url: string;
let port: number;
let owner: Client;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url, port } = await environment.startApi({ PLANS: '{"pro":{"maxRequestSize":1048576}}' }));
  owner = client(url, mintToken('ann'));
  endpointId = (await owner.create({ alias: 'my-hook' })).body.id;
});

async function requestCount(): Promise<number> {
  return (await owner.endpoint(endpointId)).body.request_count;
}

describe('receipt', () => {
  test('has received, id and timestamp, and its entry has every field of the specification [Receipt; Timestamps; `headers`; `query`; `size`]', async () => {
    const { status, body } = await send<Receipt>(`${url}/h/${endpointId}?a=1&b=2&a=3`, {
      method: 'POST',
      headers: [
        'Content-Type',
        'application/json; charset=utf-8',
        'User-Agent',
        'GitHub-Hookshot/1',
        'X-A',
        '1',
        'x-a',
        '2',
      ],
      body: '{"hello":"wörld"}',
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      received: true,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      timestamp: expect.any(Number),
    });
    const entry = (await owner.entry(body.id)).body;
    expect(entry).toEqual({
      id: body.id,
      endpoint_id: endpointId,
      seq: await requestCount(),
      method: 'POST',
      path: `/h/${endpointId}`,
      headers: {
        host: `127.0.0.1:${port}`,
        'content-length': '18',
        'content-type': 'application/json; charset=utf-8',
        'user-agent': 'GitHub-Hookshot/1',
        'x-a': '1, 2',
        connection: 'keep-alive',
      },
      query: { a: ['1', '3'], b: '2' },
      body: '{"hello":"wörld"}',
      body_encoding: 'utf8',
      content_type: 'application/json; charset=utf-8',
      ip: '127.0.0.1',
      user_agent: 'GitHub-Hookshot/1',
      size: 18,
      created_at: new Date(body.timestamp).toISOString(),
    });
  });

  test('echoes a Slack url_verification challenge, and only that', async () => {
    const withBody = async (body: unknown): Promise<Receipt> =>
      captureOne(url, endpointId, { body: JSON.stringify(body) });
    expect((await withBody({ type: 'url_verification', challenge: '3eZbrw1aB' })).challenge).toBe('3eZbrw1aB');
    expect(await withBody({ type: 'event_callback', challenge: 'url_verification' })).not.toHaveProperty('challenge');
    expect(await withBody({ type: 'url_verification', challenge: { a: 1 } })).not.toHaveProperty('challenge');
    expect(await withBody({ type: 'url_verification', challenge: 'x'.repeat(257) })).not.toHaveProperty('challenge');
    expect(await withBody(['url_verification'])).not.toHaveProperty('challenge');
  });

  test('no content type and no user agent are empty strings, no query an empty object [No content type, no user agent]', async () => {
    const { id } = await captureOne(url, endpointId);
    expect((await owner.entry(id)).body).toMatchObject({
      content_type: '',
      user_agent: '',
      query: {},
      body: '',
      size: 0,
    });
  });
});

describe('where it captures', () => {
  test('by alias, below the id, and by the id in upper case; the path is kept as sent [Alias and URL; Path below the id]', async () => {
    for (const path of ['/h/my-hook', `/h/${endpointId}/any/%2Fsuffix/`, `/h/${endpointId.toUpperCase()}`]) {
      const { status, body } = await send<Receipt>(`${url}${path}?x=%zz`, { method: 'PUT' });
      expect(status).toBe(200);
      expect((await owner.entry(body.id)).body).toMatchObject({ path, query: { x: '%zz' }, endpoint_id: endpointId });
    }
  });

  test('an absolute-form target is the same as its path', async () => {
    const reply = await rawExchange(
      port,
      `GET http://other.example/h/${endpointId}?q=1 HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n`,
    );
    const id = /"id":"([^"]+)"/.exec(reply)?.[1] ?? '';
    expect((await owner.entry(id)).body).toMatchObject({ path: `/h/${endpointId}`, query: { q: '1' } });
  });

  test('every method that the parser knows, HEAD without a body and OPTIONS with CORS headers [Methods]', async () => {
    // CONNECT requests a tunnel, and is not a request to a resource.
    for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
      const before = await requestCount();
      const answer = await send<Receipt>(`${url}/h/${endpointId}`, { method });
      expect([method, answer.status]).toEqual([method, 200]);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      if (method === 'HEAD') expect(answer.bytes.length).toBe(0);
      const [latest] = (await owner.list(endpointId, '?limit=1')).body.requests;
      expect(latest).toMatchObject({ method, seq: before + 1 });
    }
    const preflight = await send(`${url}/h/${endpointId}`, {
      method: 'OPTIONS',
      headers: [
        'Origin',
        'https://a.example',
        'Access-Control-Request-Method',
        'PATCH',
        'Access-Control-Request-Headers',
        'x-one',
      ],
    });
    expect(preflight.headers).toMatchObject({
      'access-control-allow-methods': 'PATCH',
      'access-control-allow-headers': 'x-one',
    });
  });

  test.each(['h2c', 'websocket', 'nonsense'])('a request with Upgrade: %s is captured', async (protocol) => {
    const reply = await rawExchange(
      port,
      `POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: 2\r\n\r\nhi`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK/);
    const [latest] = (await owner.list(endpointId, '?limit=1')).body.requests;
    expect(latest).toMatchObject({ body: 'hi', headers: { upgrade: protocol } });
  });

  test('Expect: 100-continue is continued, or refused before the body is sent', async () => {
    const head = (length: number): string =>
      `POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
    expect(await rawExchange(port, `${head(2)}hi`)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    expect(await rawExchange(port, head(2_000_000))).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('a refused capture is neither stored nor counted', () => {
  test('404 for an unknown id, an unknown alias, and a text that can be neither [Unknown endpoint on `/h`]', async () => {
    for (const key of [
      '7d444840-9dc0-11d1-b245-5ffdce74fad2',
      'no-such-hook',
      '',
      'x',
      'MY-HOOK',
      '%00',
      '__proto__',
      'a'.repeat(4000),
    ]) {
      const { status, body } = await send(`${url}/h/${key}`, { method: 'POST', body: 'x' });
      expect([key, status]).toEqual([key, 404]);
      expect(body).toEqual({ error: expect.any(String) });
    }
  });

  test('410 for an expired endpoint [Expired endpoint on `/h`]', async () => {
    const expired = (await owner.create()).body.id;
    await environment.db
      .knex('endpoints')
      .where({ id: idToBytes(expired) })
      .update({ expires_at: new Date(Date.now() - 1000) });
    // A pod without a copy of its own reads Redis, which has the expiry of its creation; so that is changed too.
    await environment.redis.del(`${environment.config.redis.prefix}:endpoint:${expired}`);
    const { status, body } = await send(`${url}/h/${expired}`, { method: 'POST', body: 'x' });
    expect(status).toBe(410);
    expect(body).toEqual({ error: expect.any(String) });
    expect((await owner.endpoint(expired)).body.request_count).toBe(0);
    expect((await owner.endpoints()).body.endpoints.map(({ id }) => id)).not.toContain(expired);
  });

  test('413 with sizes in bytes for a declared length, at the limit exactly, and for a chunked body [413]', async () => {
    const before = await requestCount();
    const limit = 1_048_576;
    expect((await send(`${url}/h/${endpointId}`, { method: 'POST', body: Buffer.alloc(limit) })).status).toBe(200);
    const declared = await send(`${url}/h/${endpointId}`, { method: 'POST', body: Buffer.alloc(limit + 1) });
    expect(declared.status).toBe(413);
    expect(declared.body).toEqual({ error: expect.any(String), maxSize: limit, actualSize: limit + 1 });
    const chunked = await send<{ actualSize: number }>(`${url}/h/${endpointId}`, {
      method: 'POST',
      headers: ['Transfer-Encoding', 'chunked'],
      body: Buffer.alloc(limit * 3),
    });
    expect(chunked.status).toBe(413);
    expect(chunked.body).toEqual({ error: expect.any(String), maxSize: limit, actualSize: expect.any(Number) });
    expect(chunked.body.actualSize).toBeGreaterThan(limit);
    expect(await requestCount()).toBe(before + 1);
  });

  test('an aborted upload', async () => {
    const before = await requestCount();
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(`POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nonly this`, () =>
          socket.destroy(),
        );
      });
      socket.on('close', () => resolve());
    });
    await captureOne(url, endpointId);
    expect(await requestCount()).toBe(before + 1);
  });

  test.each([
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi'],
    ['length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a space before the colon', 'X-A : 1\r\nContent-Length: 2\r\n\r\nhi'],
    ['a NUL in a header', 'X-A: a\0b\r\nContent-Length: 2\r\n\r\nhi'],
    ['a bad chunk', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'],
  ])('400 in JSON for %s', async (_name, rest) => {
    const before = await requestCount();
    const reply = await rawExchange(port, `POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\n${rest}`);
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(reply).toMatch(/\{"error":"[^"]+"\}$/);
    expect(await requestCount()).toBe(before);
  });

  test('431 in JSON for headers over 64 KiB; 60 KiB are stored, and more than a thousand headers too', async () => {
    const big = await rawExchange(
      port,
      `GET /h/${endpointId} HTTP/1.1\r\nHost: x\r\nX-Big: ${'a'.repeat(66_000)}\r\n\r\n`,
    );
    expect(big).toMatch(/^HTTP\/1\.1 431 .*\{"error":"[^"]+"\}$/s);
    const { id } = await captureOne(url, endpointId, { headers: ['X-Big', 'a'.repeat(60_000)] });
    expect((await owner.entry(id)).body.headers['x-big']).toHaveLength(60_000);
    const many = Array.from({ length: 1_500 }, (_, i) => [`x-${i}`, String(i)]).flat();
    const { id: manyId } = await captureOne(url, endpointId, { headers: many });
    expect((await owner.entry(manyId)).body.headers['x-1499']).toBe('1499');
  });
});

test('a deleted endpoint captures nothing on any pod from the moment its delete is answered', async () => {
  const other = await environment.startApi();
  for (let round = 0; round < 20; round += 1) {
    const { id } = (await owner.create()).body;
    // Both pods have a copy now.
    await captureOne(url, id);
    await captureOne(other.url, id);
    expect((await owner.removeEndpoint(id)).status).toBe(200);
    await eventually(async () => (await send(`${other.url}/h/${id}`, { method: 'POST' })).status === 404, 2_000);
    expect((await send(`${url}/h/${id}`, { method: 'POST' })).status).toBe(404);
    expect((await owner.list(id)).status).toBe(404);
  }
});

test('a capture whose endpoint is deleted while its body arrives gets no receipt', async () => {
  const { id } = (await owner.create()).body;
  const socket = connect(port, '127.0.0.1');
  let reply = '';
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString()));
  socket.write(`POST /h/${id} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nhe`);
  await captureOne(url, id);
  expect((await owner.removeEndpoint(id)).status).toBe(200);
  socket.write('re');
  await new Promise((resolve) => socket.on('close', resolve));
  expect(reply).toMatch(/^HTTP\/1\.1 404 /);
});

test('TRUST_PROXY_HOPS takes that many entries from the right of X-Forwarded-For [`ip`]', async () => {
  const behindTwo = await environment.startApi({ TRUST_PROXY_HOPS: '2' });
  const { id } = await captureOne(behindTwo.url, endpointId, {
    headers: ['X-Forwarded-For', '6.6.6.6, 203.0.113.7', 'X-Forwarded-For', '10.0.0.1'],
  });
  expect((await owner.entry(id)).body.ip).toBe('203.0.113.7');
  const { id: untrusted } = await captureOne(url, endpointId, { headers: ['X-Forwarded-For', '6.6.6.6'] });
  expect((await owner.entry(untrusted)).body.ip).toBe('127.0.0.1');
});
