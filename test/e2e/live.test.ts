import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLOSE } from '../../src/domain/live-event.ts';
import { captureOne, client, mintToken } from '../support/client.ts';
import { closing, eventually } from '../support/environment.ts';
import { startFleet, type Fleet } from '../support/fleet.ts';
import { catchUpOnConnect, connectClient } from '../support/live/clients.ts';
import { endProcess } from '../support/processes.ts';
import { runTrial } from '../support/live/trial.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet.stop());

test("200 sockets of 20 users on two pods, while pods, workers and Redis are killed: every row is received by its owner's sockets, and by no others", async () => {
  const result = await runTrial(fleet, {
    sockets: 200,
    users: 20,
    captures: 20_000,
    faults: [
      (all) => all.killWorker(0),
      (all) => all.killApi(0),
      (all) => all.killRedis(),
      (all) => all.killWorker(1),
      (all) => all.killApi(1),
      (all) => all.killRedis(),
      (all) => all.killWorker(0),
    ],
  });
  expect(result).toMatchObject({ lost: 0, missing: 0, foreign: 0, received: result.rows * 10 });
  expect(result.receipts).toBeGreaterThanOrEqual(20_000);
  // Each killed API and each killed Redis closed sockets.
  expect(result.reconnects).toBeGreaterThan(200);
});

test('the unchanged client of the live events page prints every capture once, also over a reconnect', async () => {
  const program = /```js\n(import { io }[^]*?)```/.exec(readFileSync('src/api/live/README.md', 'utf8'))?.[1] ?? '';
  const token = mintToken('reader', { plan: 'enterprise' });
  const { id } = (await client(fleet.url, token).create()).body;
  await Promise.all(Array.from({ length: 1_100 }, (_, i) => captureOne(fleet.url, id, { body: `past ${i}` })));
  const reader = spawn(process.execPath, ['--input-type=module', '-e', program, 'follow.mjs', fleet.url, id, token], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  closing(reader, (child) => void child.kill());
  const lines: string[] = [];
  createInterface({ input: reader.stdout }).on('line', (line) => lines.push(line));
  await eventually(() => lines.length === 1_100);
  for (const index of [0, 1]) {
    const sending = Promise.allSettled(Array.from({ length: 50 }, () => captureOne(fleet.url, id, { body: 'live' })));
    await fleet.killApi(index);
    await sending;
  }
  await fleet.environment.drained();
  const { request_count: count } = (await client(fleet.url, token).endpoint(id)).body;
  await eventually(() => lines.length >= count);
  await endProcess(reader, 'SIGTERM');
  const seqs = lines.map((line) => Number.parseInt(line, 10)).toSorted((a, b) => a - b);
  expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  expect(lines[0]).toMatch(new RegExp(`^1 POST /h/${id} past \\d+$`));
});

test('a stopping pod closes its sockets in order, and their clients continue on another pod without missing events', async () => {
  const token = mintToken('drained', { plan: 'enterprise' });
  const { id: endpointId } = (await client(fleet.url, token).create()).body;
  const viewers = await Promise.all(Array.from({ length: 60 }, () => connectClient(fleet.url, token)));
  for (const viewer of viewers) {
    catchUpOnConnect(viewer, endpointId);
  }
  await captureOne(fleet.url, endpointId);
  await eventually(() => viewers.every(({ events }) => events.length > 0));
  const stopping = fleet.apis[0];
  expect(await stopping?.end('SIGTERM')).toBe(0);
  await captureOne(fleet.url, endpointId);
  await eventually(() => viewers.every((viewer) => viewer.seqs().includes(2)));
  const closes = viewers.flatMap(({ closes: own }) => own);
  expect(closes.length).toBeGreaterThan(10);
  expect(closes).toEqual(closes.map(() => CLOSE.restarting));
});
