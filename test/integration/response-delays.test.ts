import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startRole } from '../support/processes.ts';

let environment: Environment;
let url: string;
let internalPort: number;
let owner: Client;

/** The longest delay; what does not wait for it takes far less. */
const LONG_MS = 10_000;
const SHORT_MS = LONG_MS / 2;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url, internalPort } = await environment.startApi());
  owner = client(url, mintToken('ann'));
});

async function endpointWith(delayMs: number): Promise<string> {
  const { id } = (await owner.create()).body;
  const answer = await owner.call('PUT', `/api/endpoints/${id}/response`, { status: 200, body: 'late', delayMs });
  expect(answer.status).toBe(200);
  return id;
}

const gauge = async (name: string, port = internalPort): Promise<number> => (await scrape(port)).value(name) ?? -1;
const delayed = (): Promise<number> => gauge('hookbay_delayed_answers');

/** A sender on a connection of its own that has sent a request. */
function sender(id: string, to = url, requests = 1): { socket: Socket; reply: () => string } {
  const { port } = new URL(to);
  const socket = closing(connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true }), (open) => {
    open.destroy();
  });
  let reply = '';
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString())).on('error', () => {});
  socket.write(
    `POST /h/${id} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`.repeat(requests),
  );
  return { socket, reply: () => reply };
}

async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  return [await work, performance.now() - start];
}

test('an answer waits for its delay, and the histogram of receipts does not count it', async () => {
  const id = await endpointWith(1_500);
  const seconds = async (): Promise<number> => (await scrape(internalPort)).value('hookbay_receipt_seconds_sum') ?? 0;
  const before = await seconds();
  const [answer, ms] = await timed(send(`${url}/h/${id}`));
  expect(answer).toMatchObject({ status: 200, body: 'late' });
  expect(answer.headers['x-hookbay-delay']).toBeUndefined();
  expect(ms).toBeGreaterThan(1_450);
  expect((await seconds()) - before).toBeLessThan((ms - 1_450) / 1_000);
});

describe('while answers wait', () => {
  test('their captures are kept and readable, their bodies are given back, and no more than five wait', async () => {
    const id = await endpointWith(LONG_MS);
    const senders = Array.from({ length: 5 }, () => sender(id));
    await eventually(async () => (await delayed()) === 5);
    expect(await gauge('hookbay_intake_bytes')).toBe(0);
    expect((await owner.list(id)).body.total).toBe(5);
    const [sixth, ms] = await timed(send(`${url}/h/${id}`));
    expect(sixth).toMatchObject({ status: 200, body: 'late', headers: { 'x-hookbay-delay': 'skipped' } });
    expect(ms).toBeLessThan(SHORT_MS);
    // Another endpoint has five of its own.
    const other = sender(await endpointWith(LONG_MS));
    await eventually(async () => (await delayed()) === 6);
    for (const { socket } of [...senders, other]) socket.destroy();
    const [, leaving] = await timed(eventually(async () => (await delayed()) === 0));
    expect(leaving).toBeLessThan(SHORT_MS);
    expect((await send(`${url}/h/${await endpointWith(1)}`)).headers['x-hookbay-delay']).toBeUndefined();
  });

  test('one that closes its half of the connection is answered at once', async () => {
    const { socket, reply } = sender(await endpointWith(LONG_MS));
    await eventually(async () => (await delayed()) === 1);
    const [, ms] = await timed(
      new Promise((resolve) => {
        socket.once('end', resolve);
        socket.end();
      }),
    );
    expect(reply()).toMatch(/^HTTP\/1\.1 200 OK.*X-Hookbay-Delay: skipped.*late$/s);
    expect(ms).toBeLessThan(SHORT_MS);
    await eventually(async () => (await delayed()) === 0);
  });

  test('pipelined requests wait side by side, and are answered in order', async () => {
    const id = await endpointWith(1_000);
    const { socket, reply } = sender(id, url, 8);
    await eventually(() => reply().match(/late/g)?.length === 8);
    expect(reply().match(/X-Hookbay-Delay: skipped/g)).toHaveLength(3);
    const order = [...reply().matchAll(/X-Hookbay-Request-Id: (\S+)/g)].map(([, one]) => one);
    expect(new Set((await owner.list(id)).body.requests.map((entry) => entry.id))).toEqual(new Set(order));
    socket.destroy();
  });

  test('a process that stops answers them at once, and ends', async () => {
    const api = await startRole('api', { ...environment.env, DRAIN_DELAY_MS: '500' });
    const id = await endpointWith(LONG_MS);
    const { reply } = sender(id, api.url);
    await eventually(async () => (await gauge('hookbay_delayed_answers', api.internalPort)) === 1);
    const [code, ms] = await timed(api.end('SIGTERM'));
    expect(code).toBe(0);
    expect(ms).toBeLessThan(LONG_MS - 500);
    expect(reply()).toMatch(/^HTTP\/1\.1 200 OK.*Connection: close.*X-Hookbay-Delay: skipped.*late$/is);
  });

  test('a process that is killed takes no capture with it', async () => {
    const api = await startRole('api', environment.env);
    const id = await endpointWith(LONG_MS);
    const { reply } = sender(id, api.url);
    await eventually(async () => (await gauge('hookbay_delayed_answers', api.internalPort)) === 1);
    await api.end('SIGKILL');
    expect(reply()).toBe('');
    expect((await owner.list(id)).body).toMatchObject({ total: 1, requests: [{ size: 100_000 }] });
    expect((await captureOne(url, (await owner.create()).body.id)).received).toBe(true);
  });
});

test('answers to a sender that reads nothing share one body in memory', async () => {
  const { id } = (await owner.create()).body;
  const body = 'x'.repeat(16_384);
  expect((await owner.call('PUT', `/api/endpoints/${id}/response`, { status: 200, body })).status).toBe(200);
  await send(`${url}/h/${id}`);
  const accepted = async (): Promise<number> =>
    (await scrape(internalPort)).value('hookbay_captures_total', { outcome: 'accepted' }) ?? 0;
  const [captures, memory] = [await accepted(), process.memoryUsage().arrayBuffers];
  const socket = closing(connect(Number(new URL(url).port), '127.0.0.1'), (open) => void open.destroy());
  socket.pause().on('error', () => {});
  socket.write(`GET /h/${id} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(1_500));
  // 500 copies would have 8 MB.
  await eventually(async () => (await accepted()) >= captures + 500);
  expect(process.memoryUsage().arrayBuffers - memory).toBeLessThan(4 * 1024 * 1024);
});
