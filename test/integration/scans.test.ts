import { createServer } from 'node:http';
import Koa from 'koa';
import { expect, test } from 'vitest';
import { errorHandler } from '../../src/api/http/error-handler.ts';
import { createScanLimit } from '../../src/api/management/scans.ts';
import { createLog } from '../../src/log.ts';
import { listen } from '../../src/ops/listen.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { send } from '../support/client.ts';

let environment: Environment;

useEnvironment((opened) => {
  environment = opened;
});

/** A server whose requests are scans that end when `finish` is called; the user is in the path. */
async function startScans() {
  const log = createLog('silent');
  const limitScan = createScanLimit({ redis: environment.redis, prefix: environment.config.redis.prefix, log });
  const running: { user: string; finish: () => void; signal: AbortSignal }[] = [];
  const app = new Koa();
  app.use(errorHandler(log));
  app.use(async (ctx) => {
    ctx.state['principal'] = { userId: ctx.path };
    await limitScan(ctx, (signal) => new Promise<void>((finish) => running.push({ user: ctx.path, finish, signal })));
    ctx.body = {};
  });
  const handle = app.callback();
  const server = closing(
    createServer((req, res) => void handle(req, res)),
    (open) => {
      open.closeAllConnections();
      open.close();
    },
  );
  const port = await listen(server, '127.0.0.1', 0);
  const abort = new AbortController();
  const scan = (user: string): Promise<number> => send(`http://127.0.0.1:${port}/${user}`).then(({ status }) => status);
  const leave = (user: string) => {
    const left = fetch(`http://127.0.0.1:${port}/${user}`, { signal: abort.signal }).catch(() => undefined);
    return { left, abort: () => abort.abort() };
  };
  return { running, scan, leave };
}

test('a process runs one scan at a time, five wait, and more are 503 [Find: bounds]', async () => {
  const { running, scan } = await startScans();
  const users = Array.from({ length: 6 }, (_, i) => `user${i}`);
  const answers: Promise<number>[] = [];
  for (const user of users) {
    answers.push(scan(user));
    await eventually(async () => (await environment.redis.exists(leaseOf(user))) === 1);
  }
  expect(running).toHaveLength(1);
  expect(await scan('one-more')).toBe(503);
  // Their own users are refused while they wait.
  expect(await scan('user5')).toBe(429);
  for (let ended = 0; ended < 6; ended += 1) {
    await eventually(() => running.length > ended);
    expect(running.length - ended).toBe(1);
    running[ended]?.finish();
  }
  expect(await Promise.all(answers)).toEqual(Array(6).fill(200));
  expect(await environment.redis.exists(...users.map(leaseOf))).toBe(0);
});

test('a lease ends by itself, and the signal aborts when the client leaves [Find: bounds]', async () => {
  const { running, leave, scan } = await startScans();
  const client = leave('ann');
  await eventually(() => running.length === 1);
  const ttl = await environment.redis.pttl(leaseOf('ann'));
  expect(ttl).toBeGreaterThan(0);
  expect(ttl).toBeLessThanOrEqual(20_000);
  expect(running[0]?.signal.aborted).toBe(false);
  client.abort();
  await client.left;
  await eventually(() => running[0]?.signal.aborted === true);
  running[0]?.finish();
  await eventually(async () => (await environment.redis.exists(leaseOf('ann'))) === 0);
  const again = scan('ann');
  await eventually(() => running.length === 2);
  running[1]?.finish();
  expect(await again).toBe(200);
});

function leaseOf(user: string): string {
  return `${environment.config.redis.prefix}:scan:/${user}`;
}
