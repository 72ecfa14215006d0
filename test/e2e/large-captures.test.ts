import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';
import { percentile } from '../support/statistics.ts';

let environment: Environment;
let api: RoleProcess;
let owner: Client;
let endpointId: string;

beforeAll(async () => {
  environment = await openEnvironment();
  await environment.startWorker();
  api = await startRole('api', environment.env);
  owner = client(api.url, mintToken('ann', { plan: 'enterprise' }));
  endpointId = (await owner.create()).body.id;
});
afterAll(async () => {
  await api.end();
  await environment.close();
});

const held = async (): Promise<number> => (await scrape(api.internalPort)).value('hookbay_intake_bytes') ?? 0;
const refusals = async (reason: string): Promise<number> =>
  (await scrape(api.internalPort)).value('hookbay_capture_refusals_total', { reason }) ?? 0;

/** Whether all of these bodies are stored when they are sent at once, while small captures continue. */
async function burst(count: number, bytes: number): Promise<boolean> {
  const body = Buffer.alloc(bytes, 'x');
  const small: number[] = [];
  let busy = true;
  const beside = (async () => {
    while (busy) {
      const start = performance.now();
      await captureOne(api.url, endpointId, { body: 'small' });
      small.push(performance.now() - start);
    }
  })();
  const start = performance.now();
  const answers = await Promise.all(
    Array.from({ length: count }, () => send(`${api.url}/h/${endpointId}`, { method: 'POST', body })),
  );
  const seconds = (performance.now() - start) / 1000;
  busy = false;
  await beside;
  if (process.env['SHOW_FIGURES']) {
    const rss = (await scrape(api.internalPort)).value('process_resident_memory_bytes') ?? 0;
    const kept = answers.filter(({ status }) => status === 200).length;
    process.stdout.write(
      `${count} x ${bytes}: ${kept} kept in ${seconds.toFixed(1)} s, small p50 ${percentile(small, 0.5).toFixed(1)} p99 ${percentile(small, 0.99).toFixed(1)} ms of ${small.length}, resident ${Math.round(rss / 1e6)} MB\n`,
    );
  }
  return answers.every(({ status }) => status === 200);
}

test.each([
  [50, 3_000_000],
  [20, 8_000_000],
])(
  '%d bodies of %d bytes at once are all stored by one idle process, and small captures continue meanwhile',
  async (count, bytes) => {
    // A busy machine may be too slow for one burst, but not for each of them.
    await eventually(() => burst(count, bytes));
    expect(await refusals('body_memory')).toBe(0);
    expect(await held()).toBe(0);
    await environment.drained();
    const stored = await environment.db.knex('requests').where('size', bytes).count<{ n: number }[]>({ n: '*' });
    expect(Number(stored[0]?.n)).toBeGreaterThanOrEqual(count);
    expect(await environment.redis.keys(`{${environment.config.redis.prefix}}:capture-large:body:*`)).toEqual([]);
  },
);

test('V8 does not collect the whole heap again and again because of the bodies that the process holds', async () => {
  const collections = async (): Promise<number> => {
    const metrics = await scrape(api.internalPort);
    const kinds = ['major', 'incremental'];
    return kinds.reduce((sum, kind) => sum + (metrics.value('nodejs_gc_duration_seconds_count', { kind }) ?? 0), 0);
  };
  const before = await collections();
  const body = Buffer.alloc(8_000_000, 'x');
  const send20 = () =>
    Promise.all(Array.from({ length: 20 }, () => send(`${api.url}/h/${endpointId}`, { method: 'POST', body })));
  for (let round = 0; round < 3; round += 1) {
    await send20();
    await environment.drained();
  }
  expect((await collections()) - before).toBeLessThan(35);
});

test('stalled uploads leave room for others, and their refusals are counted and logged with the reason', async () => {
  const sockets = Array.from({ length: 41 }, () => {
    const socket = closing(connect(api.port, '127.0.0.1'), (open) => void open.destroy());
    socket.on('error', () => {});
    socket.write(`POST /h/${endpointId} HTTP/1.1\r\nHost: x\r\nContent-Length: 25000000\r\n\r\n`);
    socket.write(Buffer.alloc(24_000_000));
    return socket;
  });
  // Uploads without room are refused, and the others hold their memory.
  await eventually(async () => (await refusals('body_memory')) > 30 && (await held()) > 150_000_000);
  const bob = client(api.url, mintToken('bob', { plan: 'enterprise' }));
  const theirs = (await bob.create()).body.id;
  for (let n = 0; n < 5; n += 1) {
    await captureOne(api.url, theirs, { body: Buffer.alloc(3_000_000, 'y') });
    await captureOne(api.url, theirs, { body: 'small' });
    await captureOne(api.url, endpointId, { body: 'small, too' });
  }
  expect(api.log.some(({ msg, reason }) => msg === 'Captures refused' && reason === 'body_memory')).toBe(true);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await held()) === 0);
});
