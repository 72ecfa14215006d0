import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import Koa from 'koa';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PACE } from '../../src/api/http/body.ts';
import { createByteBudget } from '../../src/api/http/byte-budget.ts';
import { errorHandler } from '../../src/api/http/error-handler.ts';
import { jsonBody } from '../../src/api/http/json-body.ts';
import { createLog } from '../../src/log.ts';
import { send } from '../support/client.ts';
import { closing, eventually } from '../support/environment.ts';

const budget = createByteBudget(1_048_576);
const pace = { ...PACE };
let statuses: number[];
let server: Server;
let port: number;

/** Bodies of management requests as the app reads them, with a minimum speed that a test can set. */
beforeAll(async () => {
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx, next) => {
    await next();
    statuses.push(ctx.status);
  });
  app.use(errorHandler(createLog('silent')));
  app.use(jsonBody({ budget, ownerOf: () => ({ userId: 'ann' }), pace }));
  app.use((ctx) => void (ctx.body = { read: ctx.request.body }));
  const handle = app.callback();
  server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
beforeEach(() => {
  statuses = [];
  Object.assign(pace, PACE);
});
afterAll(() => server.close());

const post = (body: Buffer | string, ...headers: string[]): ReturnType<typeof send> =>
  send(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: ['Content-Type', 'application/json', ...headers],
    body,
  });

function begin(length: number, sent: Buffer, encoding: string): Socket {
  const socket = closing(connect(port, '127.0.0.1'), (open) => void open.destroy());
  socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${length}\r\n\r\n`,
  );
  socket.write(sent);
  return socket;
}

const JSON_TEXT = JSON.stringify({ text: 'x'.repeat(20_000) });

describe.each([
  ['identity', (text: string) => Buffer.from(text)],
  ['gzip', (text: string) => gzipSync(text)],
  ['br', (text: string) => brotliCompressSync(text)],
])('a body with Content-Encoding: %s', (encoding, compress) => {
  test('is read completely', async () => {
    expect(await post(compress(JSON_TEXT), 'Content-Encoding', encoding)).toMatchObject({
      status: 200,
      body: { read: JSON.parse(JSON_TEXT) },
    });
    expect(budget.used()).toBe(0);
  });

  test('that breaks off ends at once: 400 for log and metrics, and its memory is free', async () => {
    const bytes = compress(JSON_TEXT);
    const socket = begin(bytes.length, bytes.subarray(0, bytes.length >> 1), encoding);
    await eventually(() => budget.used() > 0);
    socket.destroy();
    await eventually(() => statuses.length === 1);
    expect([statuses, budget.used()]).toEqual([[400], 0]);
  });

  test('that stalls is 408', async () => {
    Object.assign(pace, { deadlineMs: 100, windowMs: 100 });
    const bytes = compress(JSON_TEXT);
    const socket = begin(bytes.length, bytes.subarray(0, bytes.length >> 1), encoding);
    let reply = '';
    socket.on('data', (chunk: Buffer) => (reply += chunk.toString()));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(reply).toMatch(/^HTTP\/1\.1 408 .*\{"error":"[^"]+"\}$/s);
    expect([statuses, budget.used()]).toEqual([[408], 0]);
  });
});

test.each([
  ['gzip', Buffer.from('junk')],
  ['deflate', Buffer.from('junk')],
  ['br', Buffer.from('junk')],
  ['br', Buffer.alloc(200, 0xff)],
  ['zstd', Buffer.from('junk')],
  ['gzip', gzipSync('{"a":').subarray(0, 20)],
  ['gzip', gzipSync('{"a":')],
  ['gzip', gzipSync('7')],
  ['nonsense', Buffer.from('{}')],
])('junk in Content-Encoding: %s is the sender’s fault', async (encoding, body) => {
  const answer = await post(body, 'Content-Encoding', encoding);
  expect([400, 415]).toContain(answer.status);
  expect(answer.body).toEqual({ error: expect.any(String) });
});

test('a body above the limit after decompression is 413', async () => {
  expect((await post(gzipSync(JSON.stringify('x'.repeat(10_000_000))), 'Content-Encoding', 'gzip')).status).toBe(413);
  expect(budget.used()).toBe(0);
});
