import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PACE, readBody, SenderGone } from '../../src/api/http/body.ts';
import { createByteBudget, type ByteBudget } from '../../src/api/http/byte-budget.ts';
import { send } from '../support/client.ts';
import { closing, eventually } from '../support/environment.ts';

const BUDGET = 16 * 1_048_576;

let budget: ByteBudget;
let pace = PACE;
/** The outcome of each request, by user. */
let outcomes: Record<string, unknown[]>;
let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
beforeEach(() => {
  budget = createByteBudget(BUDGET);
  pace = PACE;
  outcomes = {};
});
afterAll(() => server.close());

/** The path names the user. */
async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const user = req.url?.slice(1) ?? '';
  const holding = budget.open({ userId: user });
  const note = (outcome: unknown): void => void (outcomes[user] ??= []).push(outcome);
  try {
    await readBody(req, res, 10 * BUDGET, holding, pace);
    note('read');
    res.end('read');
  } catch (error) {
    note(error instanceof SenderGone ? 'gone' : (error as { status: number }).status);
    res.writeHead((error as { status?: number }).status ?? 499).end();
  } finally {
    holding.release();
  }
}

const post = (user: string, bytes: number): ReturnType<typeof send> =>
  send(`http://127.0.0.1:${port}/${user}`, { method: 'POST', body: Buffer.alloc(bytes) });

/** An upload that stops after this many of its bytes. */
function stalled(user: string, bytes: number, announced = bytes + 1): Socket {
  const socket = closing(connect(port, '127.0.0.1'), (open) => void open.destroy());
  socket.on('error', () => {});
  socket.write(`POST /${user} HTTP/1.1\r\nHost: x\r\nContent-Length: ${announced}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes));
  return socket;
}

test('a body beyond the memory budget is refused with 503, and a sender that disconnects frees its memory', async () => {
  const hold = stalled('ann', 12_000_000);
  await eventually(() => budget.used() === 12_000_000);
  expect((await post('bob', 8_000_000)).status).toBe(503);
  // What the refused body had taken is free again.
  await eventually(() => budget.used() === 12_000_000);
  hold.destroy();
  await eventually(() => budget.used() === 0);
  expect((await post('bob', 8_000_000)).status).toBe(200);
  expect(budget.used()).toBe(0);
  expect(outcomes).toEqual({ ann: ['gone'], bob: [503, 'read'] });
});

test('bytes are counted as they arrive, not as they are declared', async () => {
  const idle = stalled('eve', 1, 10_000_000);
  await eventually(() => budget.used() === 1);
  idle.destroy();
  await eventually(() => budget.used() === 0);
  expect(outcomes['eve']).toEqual(['gone']);
});

test('one user’s stalled uploads leave room for others, for large bodies and for small ones', async () => {
  for (let n = 0; n < 30; n += 1) stalled('carl', 1_000_000);
  // What carl is refused stays free.
  await eventually(() => (outcomes['carl'] ?? []).length > 10 && budget.used() > 10_000_000);
  expect((await post('bob', 2_000_000)).status).toBe(200);
  for (const user of ['carl', 'bob']) expect((await post(user, 1_000)).status).toBe(200);
});

test('a body has 30 s, and longer only while it brings 8 KiB a second; then it is answered 408', async () => {
  pace = { deadlineMs: 300, windowMs: 300, windowBytes: 1_000 };
  const slow = connect(port, '127.0.0.1');
  let reply = '';
  slow.on('data', (chunk: Buffer) => (reply += chunk.toString()));
  slow.write('POST /dora HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n');
  let sent = 0;
  const drip = setInterval(() => slow.write(Buffer.alloc(1_000), () => (sent += 1_000)), 50);
  await eventually(() => sent > 30_000);
  expect(outcomes['dora']).toBeUndefined();
  clearInterval(drip);
  await new Promise((resolve) => slow.once('close', resolve));
  expect(reply).toMatch(/^HTTP\/1\.1 408 /);
  expect([outcomes['dora'], budget.used()]).toEqual([[408], 0]);
});

test('one turn of the event loop reads a bounded part of many large bodies that wait in their sockets', async () => {
  budget = createByteBudget(16 * BUDGET);
  const bytes = 4 * 1_048_576;
  const waiting = Promise.withResolvers<void>();
  let requests = 0;
  let turn = 0;
  let largest = 0;
  const held = createServer((req, res) => {
    requests += 1;
    void waiting.promise.then(() => {
      req.on('data', ({ length }: Buffer) => {
        if (turn === 0) setImmediate(() => (turn = 0));
        turn += length;
        largest = Math.max(largest, turn);
      });
      return answer(req, res);
    });
  });
  closing(held, (open) => void open.close());
  const address = await new Promise<AddressInfo>((resolve) =>
    held.listen(0, '127.0.0.1', () => resolve(held.address() as AddressInfo)),
  );
  const answers = Array.from({ length: 30 }, () =>
    send(`http://127.0.0.1:${address.port}/ann`, { method: 'POST', body: Buffer.alloc(bytes) }),
  );
  await eventually(() => requests === answers.length);
  waiting.resolve();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200));
  if (process.env['SHOW_FIGURES']) process.stdout.write(`largest turn: ${largest} bytes\n`);
  expect(largest).toBeLessThan(6 * 1_048_576);
});
