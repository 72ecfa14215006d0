import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import Koa from 'koa';
import { expect, test } from 'vitest';
import { createHttpServer } from '../../src/api/http/server.ts';
import { isTooSlow } from '../../src/api/http/slow-readers.ts';
import { listen } from '../../src/ops/listen.ts';
import { send } from '../support/client.ts';
import { closing, eventually } from '../support/environment.ts';

const PACE = { windowMs: 500, windowBytes: 50_000 };
const ANSWER_BYTES = 64 * 1024 * 1024;

/** A server whose readers need a high speed, with the outcomes of its answers. */
async function startServer(): Promise<{ port: number; ends: string[] }> {
  const ends: string[] = [];
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx) => {
    if (ctx.path === '/late') await sleep(1_500);
    ctx.res.once('close', () => ends.push(`${ctx.path} ${ctx.res.writableFinished ? 'read' : 'cut'}`));
    ctx.body = ctx.path === '/late' ? 'late' : Readable.from(pieces(), { objectMode: false });
  });
  const http = createHttpServer(app, undefined, PACE);
  closing(http.server, (server) => {
    server.closeAllConnections();
    server.close();
  });
  return { port: await listen(http.server, '127.0.0.1', 0), ends };
}

function* pieces(): Generator<Buffer> {
  for (let sent = 0; sent < ANSWER_BYTES; sent += 65_536) yield Buffer.alloc(65_536);
}

test('a reader that reads nothing is cut; one that keeps the pace, and one that waits for its answer, are not', async () => {
  const { port, ends } = await startServer();
  const read = async (path: string, pauseMs: number): Promise<void> => {
    const socket = closing(connect(port, '127.0.0.1'), (open) => void open.destroy());
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    if (pauseMs === Infinity) return void socket.pause();
    for await (const _chunk of socket) await sleep(pauseMs);
  };
  await Promise.all([read('/stuck', Infinity), read('/steady', 1), send(`http://127.0.0.1:${port}/late`)]);
  await eventually(() => ends.length === 3);
  expect(ends.toSorted()).toEqual(['/late read', '/steady read', '/stuck cut']);
});

test('a reader of a stream who takes what waited is not slow, even if something new waits at each check', () => {
  const first = { sent: 1_000, written: 1_500 };
  expect(isTooSlow(first, { sent: 1_500, written: 1_900 }, 100_000)).toBe(false);
  expect(isTooSlow(first, { sent: 1_499, written: 1_900 }, 100_000)).toBe(true);
  expect(isTooSlow(first, { sent: 101_000, written: 900_000 }, 100_000)).toBe(false);
});
