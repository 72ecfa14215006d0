import { createServer, type Server } from 'node:http';
import { expect, test } from 'vitest';
import { startGenerator } from '../load/generator/generator.ts';
import type { LoadOptions, LoadResult } from '../load/generator/load.ts';
import { closing } from '../support/environment.ts';

const PATHS = ['/h/aaaa', '/h/bbbb', '/h/cccc'];
const LOAD = { paths: PATHS, connections: 4, bodyBytes: 1_024, newConnections: false, amount: 300 };

/** Sends a load from another process to a server that answers so; returns what the server has seen, too. */
async function sendTo(answer: (n: number) => number | 'break', load: Partial<LoadOptions> = {}) {
  const seen = { requests: 0, connections: 0, bytes: 0, paths: {} as Record<string, number> };
  const server: Server = createServer((request, response) => {
    seen.paths[request.url ?? ''] = (seen.paths[request.url ?? ''] ?? 0) + 1;
    request.on('data', (chunk: Buffer) => (seen.bytes += chunk.length));
    request.on('end', () => {
      const status = answer((seen.requests += 1));
      if (status === 'break') return void request.socket.destroy();
      response.writeHead(status, { 'Content-Length': 4 });
      response.write('ab');
      // In two pieces, often.
      setImmediate(() => response.end('cd'));
    });
  });
  server.on('connection', () => (seen.connections += 1));
  await new Promise<void>((resolve) => closing(server, (one) => void one.close()).listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const ports = [typeof address === 'object' && address !== null ? address.port : 0];
  const generator = closing(startGenerator(), (one) => one.stop());
  const result: LoadResult = await generator.run({ ...LOAD, ports, ...load });
  return { result, seen };
}

test('every request is sent whole, once, and answered', async () => {
  const { result, seen } = await sendTo(() => 200);
  expect(result).toMatchObject({ receipts: 300, others: {} });
  expect(seen).toMatchObject({ requests: 300, connections: 4, bytes: 300 * 1_024 });
  expect(Object.keys(seen.paths).toSorted()).toEqual(PATHS);
  const { p50, p90, p99, max } = result.latency;
  expect([p50, p90, p99, max]).toEqual([p50, p90, p99, max].toSorted((a, b) => a - b));
  expect(result.cpu).toBeGreaterThan(0);
});

test('paths can be taken in turn', async () => {
  const { seen } = await sendTo(() => 200, { inTurn: true });
  expect(seen.paths).toEqual({ '/h/aaaa': 100, '/h/bbbb': 100, '/h/cccc': 100 });
});

test('only receipts count as such', async () => {
  const { result } = await sendTo((n) => (n % 3 === 0 ? 503 : 200));
  expect(result).toMatchObject({ receipts: 200, others: { 503: 100 } });
});

test('a broken connection is counted, and replaced', async () => {
  const { result, seen } = await sendTo((n) => (n === 10 ? 'break' : 200));
  expect(result.receipts).toBe(299);
  expect(Object.values(result.others)).toEqual([1]);
  expect(seen.connections).toBe(5);
});

test('each request can have a connection of its own', async () => {
  const { result, seen } = await sendTo(() => 200, { newConnections: true });
  expect(result).toMatchObject({ receipts: 300, others: {} });
  expect(seen.connections).toBe(300);
});

test('at a steady rate all requests are sent, and none before it is due', async () => {
  const { result } = await sendTo(() => 200, { amount: undefined, rate: 500, seconds: 1 });
  expect(result).toMatchObject({ receipts: 500, others: {} });
  expect(result.seconds).toBeGreaterThanOrEqual(0.998);
});
