import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { afterEach, expect, test } from 'vitest';
import { LeanKoa } from '../../src/api/http/lean-koa.ts';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

async function get(
  app: Koa,
  middleware: Koa.Middleware,
): Promise<{ status: number; type: string | null; text: string }> {
  app.silent = true;
  app.use(middleware);
  const server = createServer((req, res) => void app.callback()(req, res)).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

const MIDDLEWARE: Record<string, Koa.Middleware> = {
  'that sets nothing': () => {},
  'that sets a body': (ctx) => {
    ctx.body = { a: 1 };
  },
  'that sets a status and a body': (ctx) => {
    ctx.status = 418;
    ctx.body = 'short and stout';
  },
  'that sets a status': (ctx) => {
    ctx.status = 204;
  },
  'that throws': (ctx) => ctx.throw(403, 'no'),
  'that throws something unexpected': () => Promise.reject(new Error('secret')),
  'that answers itself': (ctx) => {
    ctx.respond = false;
    ctx.res.writeHead(201, ['Content-Type', 'text/plain']).end('by hand');
  },
};

test.each(Object.entries(MIDDLEWARE))('middleware %s gets the answer that Koa gives', async (_name, middleware) => {
  expect(await get(new LeanKoa(), middleware)).toEqual(await get(new Koa(), middleware));
});

test('an answer that middleware writes has no watch', async () => {
  const listeners = async (app: Koa): Promise<number> => {
    let count = NaN;
    await get(app, (ctx) => {
      ctx.respond = false;
      count = ctx.res.listenerCount('finish');
      ctx.res.end();
    });
    return count;
  };
  expect(await listeners(new LeanKoa())).toBe((await listeners(new Koa())) - 1);
});
