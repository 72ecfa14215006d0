import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createByteBudget, readBody } from '../../src/api/body.ts';
import { send } from '../support/client.ts';
import { eventually } from '../support/environment.ts';

const BUDGET = 1_048_576;

const budget = createByteBudget(BUDGET);
let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
afterAll(() => server.close());

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  try {
    const body = await readBody(req, res, 10 * BUDGET, budget);
    budget.give(body.length);
    res.end('read');
  } catch (error) {
    res.writeHead((error as { status?: number }).status ?? 499).end();
  }
}

/** How much is left of the budget is at least so much. */
function hasLeft(bytes: number): boolean {
  if (!budget.take(bytes)) return false;
  budget.give(bytes);
  return true;
}

test('a body beyond the memory that is set aside is refused with 503, and room comes back when a sender goes', async () => {
  const half = (): ReturnType<typeof send> => send(`http://127.0.0.1:${port}/`, { method: 'POST', body: Buffer.alloc(500_000) });
  expect((await half()).status).toBe(200);
  const hold = connect(port, '127.0.0.1');
  hold.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n');
  hold.write(Buffer.alloc(800_000));
  await eventually(() => !hasLeft(BUDGET - 800_000 + 1));
  expect((await half()).status).toBe(503);
  // What the refused one had taken is free again.
  expect(hasLeft(BUDGET - 800_000)).toBe(true);
  hold.destroy();
  await eventually(() => hasLeft(BUDGET));
  expect((await half()).status).toBe(200);
  expect(hasLeft(BUDGET)).toBe(true);
});

test('bytes are counted as they come, not as they are announced', async () => {
  const idle = connect(port, '127.0.0.1');
  idle.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\nx');
  await eventually(() => !hasLeft(BUDGET));
  expect(hasLeft(BUDGET - 1)).toBe(true);
  idle.destroy();
  await eventually(() => hasLeft(BUDGET));
});
