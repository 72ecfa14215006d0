import { connect, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { captureOne, client, mintToken, rawExchange, send, type Client } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

let environment: Environment;
let api: RoleProcess;
let owner: Client;
let token: string;
let endpointId: string;

beforeAll(async () => {
  environment = await openEnvironment();
  await environment.startWorker();
  api = await startRole('api', environment.env);
  token = mintToken('ann');
  owner = client(api.url, token);
  endpointId = (await owner.create()).body.id;
});
afterAll(async () => {
  await api.end();
  await environment.close();
});

const count = async (): Promise<number> => (await owner.endpoint(endpointId)).body.request_count;
const serverErrors = async (): Promise<number> =>
  (await scrape(api.internalPort)).value('hookbay_http_requests_total', { status: '5xx' }) ?? 0;
const outcome = async (name: string): Promise<number> =>
  (await scrape(api.internalPort)).value('hookbay_captures_total', { outcome: name }) ?? 0;

/** A connection that stays half-open until the test ends it. */
function open(): { socket: Socket; reply: () => string; closed: Promise<unknown> } {
  const socket = closing(
    connect({ port: api.port, host: '127.0.0.1', allowHalfOpen: true }),
    (one) => void one.destroy(),
  );
  let reply = '';
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString()));
  socket.on('error', () => {});
  return { socket, reply: () => reply, closed: new Promise((resolve) => socket.once('end', resolve)) };
}

describe('an unusual request is captured', () => {
  test.each(['foo', '100-continue, foo', ''])('Expect: %j', async (expectation) => {
    const before = await count();
    const reply = await rawExchange(
      api.port,
      `POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: ${expectation}\r\nContent-Length: 2\r\n\r\nhi`,
    );
    expect(reply).toMatch(/HTTP\/1\.1 200 OK.*"received":true/s);
    expect(await count()).toBe(before + 1);
  });

  test('HTTP/1.0 with Expect: 100-continue gets no 100, and needs no Host', async () => {
    const before = await count();
    const reply = await rawExchange(
      api.port,
      `POST /h/${endpointId} HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(await count()).toBe(before + 1);
  });

  test('a complete request whose sender closes its half of the connection', async () => {
    const { socket, reply, closed } = open();
    socket.end(`POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi`);
    await closed;
    expect(reply()).toMatch(/^HTTP\/1\.1 200 OK.*"received":true/s);
  });

  test('valid requests before a malformed one on the same connection are answered, and then it is', async () => {
    const before = await count();
    const { socket, reply, closed } = open();
    const good = `POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi`;
    socket.write(`${good}${good}${good}NONSENSE\r\n\r\nand more`);
    await closed;
    expect([...reply().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '200',
      '200',
      '200',
      '400',
    ]);
    expect(await count()).toBe(before + 3);
  });
});

describe('a faulty request is answered in JSON, and never with 5xx', () => {
  test.each([
    ['no Host', ''],
    ['two Hosts', 'Host: a\r\nhost: b\r\n'],
  ])('%s', async (_name, hosts) => {
    const refused = await outcome('refused');
    for (const path of [`/h/${endpointId}`, '/api/endpoints', '/openapi.json', '/nowhere']) {
      const reply = await rawExchange(api.port, `GET ${path} HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
      expect([path, reply]).toEqual([path, expect.stringMatching(/^HTTP\/1\.1 400 .*\{"error":"[^"]*Host[^"]*"\}$/s)]);
    }
    expect(await outcome('refused')).toBe(refused + 1);
  });

  test.each([
    'http://a:abc/nowhere',
    'http://[/nowhere',
    'http://a:99999/api/endpoints',
    'https://%/nowhere',
    '//',
    '/%E0%A4',
    '*',
    'http:///h/',
  ])('GET %s', async (target) => {
    const before = await serverErrors();
    const reply = await rawExchange(api.port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(reply).toMatch(/^HTTP\/1\.1 4\d\d .*\{"error":"[^"]+"\}$/s);
    expect(await serverErrors()).toBe(before);
  });

  test.each(['POST /api/endpoints', 'POST /api/verify-signature', 'DELETE /api/requests'])(
    'an interrupted body of %s is logged and counted as its sender’s fault',
    async (route) => {
      const before = await serverErrors();
      const json = JSON.stringify({ text: 'x'.repeat(1_000) });
      for (const [encoding, bytes] of Object.entries({
        identity: Buffer.from(json),
        gzip: gzipSync(json),
        br: brotliCompressSync(json),
      })) {
        const id = `broken-${route.replaceAll(/\W/g, '')}-${encoding}`;
        const { socket } = open();
        socket.write(
          `${route} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
            `Content-Encoding: ${encoding}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
        );
        socket.write(bytes.subarray(0, bytes.length >> 1), () => setTimeout(() => socket.destroy(), 50));
        await eventually(() => api.log.some(({ requestId }) => requestId === id));
        expect(api.log.filter(({ requestId }) => requestId === id)).toEqual([
          expect.objectContaining({ msg: 'Request', status: 400, aborted: true }),
        ]);
      }
      expect(await serverErrors()).toBe(before);
    },
  );

  test('an interrupted capture is "aborted"', async () => {
    const before = await outcome('aborted');
    for (const end of ['end', 'destroy'] as const) {
      const { socket } = open();
      socket.write(`POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhi`, () =>
        setTimeout(() => socket[end](), 50),
      );
    }
    await eventually(async () => (await outcome('aborted')) >= before + 2);
    expect(await outcome('aborted')).toBe(before + 2);
  });
});

test('afterwards it works as before', async () => {
  const { id } = await captureOne(api.url, endpointId, { body: 'fine' });
  expect((await owner.entry(id)).body.body).toBe('fine');
  expect((await send(`${api.url}/openapi.json`)).status).toBe(200);
  expect(api.log.filter(({ level }) => (level as number) >= 50)).toEqual([]);
});
