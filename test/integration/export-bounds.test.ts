import { afterAll, beforeAll, expect, test } from 'vitest';
import { createExportSlots } from '../../src/api/management/export-slots.ts';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { download, readCsv, readNdjson, type Download } from '../support/exports.ts';
import { scrape } from '../support/exposition.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';
import { startProxy } from '../support/proxy.ts';

const MIB = 1024 * 1024;

/** More than all buffers between an API and a client that does not read, several times. */
const ENTRIES = 80;
const BODY_BYTES = 500_000;

let environment: Environment;
let api: RoleProcess;
let other: Awaited<ReturnType<Environment['startApi']>>;
let endpoint: string;
/** Of one entry that alone is more than all buffers hold: as JSON it has 150 MB. */
let huge: string;
const token = mintToken('ann');

beforeAll(async () => {
  environment = await openEnvironment();
  api = await startRole('api', environment.env);
  other = await environment.startApi();
  endpoint = await store(client(api.url, token), Array(ENTRIES).fill(BODY_BYTES));
  huge = await store(client(api.url, token), [25 * MIB], 1);
});
afterAll(async () => {
  await api.end('SIGKILL');
  await environment.close();
});

async function store(user: Client, sizes: number[], fill = 120): Promise<string> {
  const { id } = (await user.create()).body;
  for (const size of sizes) {
    const captures = [makeCapture(id, { body: Buffer.alloc(size, fill) })];
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-01-01', captures }]);
  }
  return id;
}

const path = (format = 'ndjson', after = 0, id = endpoint): string =>
  `/api/endpoints/${id}/export?format=${format}&after=${after}`;
const held = async (process = api): Promise<number | undefined> =>
  (await scrape(process.internalPort)).value('hookbay_answer_bytes');

/** Begins an export that runs until it is read. */
async function begin(url = api.url, format = 'ndjson', id = endpoint, as = token): Promise<Download> {
  let begun: Download | undefined;
  // The export before it may not have given its slot back yet.
  await eventually(async () => {
    begun = await download(url, path(format, 0, id), as);
    if (begun.status !== 200) begun.leave();
    return begun.status === 200;
  });
  return begun as Download;
}

test('a user has one export at a time, over all processes; when its client goes the next can begin [Export: one at a time]', async () => {
  const running = await begin();
  for (const url of [api.url, other.url]) {
    const second = await download(url, path(), token);
    expect([second.status, second.headers['retry-after']]).toEqual([429, '10']);
    expect((await second.read()).bytes.toString()).toContain('Another export of yours');
  }
  const stranger = client(other.url, mintToken('bob'));
  const theirs = await store(stranger, [10]);
  expect((await stranger.call('GET', `/api/endpoints/${theirs}/export?format=csv`)).status).toBe(200);
  expect((await client(api.url, token).list(endpoint, '?limit=1')).status).toBe(200);
  running.leave();
  const next = await begin(other.url);
  expect(readNdjson((await next.read()).bytes).end).toEqual({ end: true, count: ENTRIES, next: ENTRIES, more: false });
});

test('a client that does not read holds one page, and a reader of it gets all', async () => {
  await eventually(async () => (await held()) === 0);
  const running = await begin();
  await eventually(async () => ((await held()) ?? 0) > 0);
  // The whole is 40 MB.
  for (let n = 0; n < 10; n += 1) expect(await held()).toBeLessThan(4 * MIB);
  const { bytes, complete } = await running.read();
  expect([readNdjson(bytes).end?.count, complete]).toEqual([ENTRIES, true]);
  await eventually(async () => (await held()) === 0);
});

test('a process runs 20 exports at most', async () => {
  const slots = createExportSlots(environment.redis, `${environment.config.redis.prefix}-slots`);
  const taken = await Promise.all(Array.from({ length: 20 }, (_, i) => slots.take(`user${i}`, () => {})));
  await expect(slots.take('user20', () => {})).rejects.toMatchObject({ status: 503 });
  await expect(slots.take('user0', () => {})).rejects.toMatchObject({ status: 429 });
  await taken[0]?.free();
  await expect(slots.take('user20', () => {})).resolves.toBeDefined();
  slots.drain();
  await expect(slots.take('user0', () => {})).rejects.toMatchObject({ status: 503 });
});

test('a slot that is held for too long is cut', async () => {
  const slots = createExportSlots(environment.redis, `${environment.config.redis.prefix}-late`, 20);
  let cuts = 0;
  const slot = await slots.take('user', () => (cuts += 1));
  await eventually(() => cuts === 1);
  await slot.free();
  await expect(slots.take('user', () => {})).resolves.toBeDefined();
});

test('an export ends when its token expires, and says where to go on [Export: ends early]', async () => {
  const short = mintToken('ann', { plan: 'pro' }, { expiresIn: '3s' });
  const expiry = Date.now() + 4_000;
  const running = await begin(api.url, 'ndjson', endpoint, short);
  await eventually(() => Date.now() > expiry);
  const { bytes, complete } = await running.read();
  const { entries, end } = readNdjson(bytes);
  expect([complete, end]).toEqual([true, { end: true, count: entries.length, next: entries.length, more: true }]);
  expect(entries.length).toBeLessThan(ENTRIES);
  const rest = readNdjson((await (await restOf(end?.next ?? 0)).read()).bytes);
  expect([...entries, ...rest.entries].map(({ seq }) => seq)).toEqual(Array.from({ length: ENTRIES }, (_, i) => i + 1));
});

async function restOf(after: number): Promise<Download> {
  let rest: Download | undefined;
  await eventually(async () => {
    rest = await download(other.url, path('ndjson', after), token);
    return rest.status === 200;
  });
  return rest as Download;
}

test('at a stop of its process an export ends soon, and says where to go on', async () => {
  const stopping = await startRole('api', environment.env);
  const running = await begin(stopping.url);
  const stopped = stopping.end('SIGTERM');
  await eventually(() => stopping.log.some(({ msg }) => msg === 'Stopping'));
  const { bytes, complete } = await running.read();
  const { entries, end } = readNdjson(bytes);
  expect([complete, end?.more, end?.next]).toEqual([true, true, entries.length]);
  expect(await stopped).toBe(0);
});

test('an export that is not read does not hold up the stop of its process, and is not whole', async () => {
  // Before the slow reader would be cut, which takes 20 s.
  const stopping = await startRole('api', { ...environment.env, SHUTDOWN_TIMEOUT_MS: '18000' });
  const running = await begin(stopping.url, 'har', huge);
  expect(await stopping.end('SIGTERM')).toBe(0);
  const { bytes, complete } = await running.read();
  expect(complete).toBe(false);
  expect(() => JSON.parse(bytes.toString()) as unknown).toThrow(SyntaxError);
});

test('when its process is killed, the file has no end, and the next export begins within seconds [Export: whole]', async () => {
  const killed = await startRole('api', environment.env);
  const running = await begin(killed.url, 'ndjson', huge);
  const reading = running.read();
  await killed.end('SIGKILL');
  const { bytes, complete } = await reading;
  expect([complete, bytes.includes('"end":true')]).toEqual([false, false]);
  (await begin(other.url)).leave();
});

test('when the database is lost midway the connection is destroyed, not ended', async () => {
  const proxy = closing(await startProxy(environment.config.mysql.port), (open) => open.close());
  const cut = await environment.startApi({ MYSQL_PORT: String(proxy.port) });
  const running = await begin(cut.url, 'csv');
  proxy.refuseNew();
  proxy.breakExisting();
  const { bytes, complete } = await running.read();
  expect(complete).toBe(false);
  expect(() => readCsv(bytes.toString())).toThrow('not CSV');
});
