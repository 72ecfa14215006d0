import { beforeEach, describe, expect, test } from 'vitest';
import type { LogEntry } from '../../src/domain/answers.ts';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { openEvents } from '../support/event-source.ts';
import { scrape } from '../support/exposition.ts';
import { holderOfEndpoint } from '../support/shares.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const MAX = 256 * KIB;

let environment: Environment;
let api: { url: string; internalPort: number };
let token: string;
let owner: Client;
let endpointId: string;
let users = 0;

useEnvironment(async (opened) => {
  environment = opened;
  // Less than the largest body that is stored below.
  api = await environment.startApi({ ANSWER_MAX_BYTES: String(16 * MIB) });
});
beforeEach(async () => {
  token = mintToken(`reader-${(users += 1)}`, { plan: 'enterprise' });
  owner = client(api.url, token);
  endpointId = (await owner.create()).body.id;
});

async function store(...bodies: (string | Buffer)[]): Promise<void> {
  const captures = bodies.map((body) =>
    makeCapture(endpointId, { body: Buffer.from(body), isUtf8: typeof body === 'string' }),
  );
  await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures }]);
}

type Read = (query: string) => Promise<LogEntry>;

const list: Read = async (query) => (await owner.list(endpointId, `?${query}`)).body.requests[0] as LogEntry;
const search: Read = (query) => list(`header=host&${query}`);
const filtered: Read = (query) => list(`method=POST&${query}`);
const detail: Read = async (query) => (await owner.entry((await list('bodyBytes=0')).id, `?${query}`)).body;
const events: Read = async (query) => {
  const path = `${api.url}/api/endpoints/${endpointId}/events?after=0&${query}`;
  const stream = closing(await openEvents(path, token), (open) => open.close());
  await eventually(() => stream.entries().length > 0);
  return stream.entries()[0] as LogEntry;
};

describe.each([
  ['list', list],
  ['search', search],
  ['list by method', filtered],
  ['detail', detail],
  ['event stream', events],
])('bodyBytes on the %s [`bodyBytes`]', (_name, read) => {
  test('cuts a body at so many bytes, and says so', async () => {
    await store('0123456789');
    expect(await read('bodyBytes=4')).toMatchObject({ body: '0123', body_truncated: true, size: 10 });
    expect(await read('bodyBytes=0')).toMatchObject({ body: '', body_truncated: true, size: 10 });
    for (const bytes of [10, 11, MAX]) {
      const whole = await read(`bodyBytes=${bytes}`);
      expect(whole).toMatchObject({ body: '0123456789', size: 10 });
      expect(whole).not.toHaveProperty('body_truncated');
    }
  });

  test('never cuts within a character', async () => {
    await store('aé€😀');
    const at = async (bytes: number): Promise<string> => (await read(`bodyBytes=${bytes}`)).body;
    const cuts = ['', 'a', 'a', 'aé', 'aé', 'aé', 'aé€', 'aé€', 'aé€', 'aé€', 'aé€😀'];
    for (const [bytes, text] of cuts.entries()) expect([bytes, await at(bytes)]).toEqual([bytes, text]);
  });

  test('cuts bytes that are no text to the byte', async () => {
    await store(Buffer.from([0xff, 0x80, 0, 0xfe]));
    expect(await read('bodyBytes=3')).toMatchObject({ body: '/4AA', body_encoding: 'base64', body_truncated: true });
  });

  test('cuts a body over 256 KiB, too', async () => {
    await store('b'.repeat(MAX + 1));
    for (const bytes of [100, MAX]) {
      const { body, body_truncated, size } = await read(`bodyBytes=${bytes}`);
      expect([body, body_truncated, size]).toEqual(['b'.repeat(bytes), true, MAX + 1]);
    }
  });
});

test.each(['262145', '999999999999999', '1e3', '-1', '1.5', '0x10', '+1', '', '%31%00', '1&bodyBytes=2'])(
  'bodyBytes=%s is 400 that names it [`bodyBytes`]',
  async (value) => {
    await store('x');
    const { id } = await list('');
    const paths = [`endpoints/${endpointId}/requests`, `endpoints/${endpointId}/events`, `requests/${id}`];
    for (const path of paths) {
      const { status, body } = await owner.call('GET', `/api/${path}?bodyBytes=${value}`);
      expect([path, status, body]).toEqual([path, 400, { error: expect.stringMatching(/^bodyBytes: /) }]);
    }
  },
);

test('without bodyBytes a detail is whole, and a body over 256 KiB is left out of events [`bodyBytes`]', async () => {
  await store('c'.repeat(MAX + 1));
  expect((await detail('')).body).toHaveLength(MAX + 1);
  expect(await events('')).toMatchObject({ body: '', body_truncated: true });
  expect((await list('')).body).toHaveLength(MAX);
});

test('a page of large bodies is as small as bodyBytes says, and the 8 MiB of a page still hold', async () => {
  const body = Buffer.alloc(MAX, 0xff);
  for (let i = 0; i < 5; i += 1) await store(...Array.from({ length: 10 }, () => body));
  const brief = await owner.list(endpointId, '?limit=200&bodyBytes=1000');
  expect([brief.body.requests.length, brief.bytes.length < 200 * KIB]).toEqual([50, true]);
  const { requests } = (await owner.list(endpointId, `?limit=200&bodyBytes=${MAX}`)).body;
  const bytes = requests.reduce((sum, request) => sum + Buffer.from(request.body, 'base64').length, 0);
  expect([bytes > 7 * MIB, bytes <= 8 * MIB]).toEqual([true, true]);
});

test('only the cut size is reserved: a detail opens where there is no memory for the whole body', async () => {
  await store(Buffer.alloc(20 * MIB, 0xff));
  const { id } = await list('bodyBytes=0');
  expect((await owner.entry(id)).status).toBe(503);
  const { status, body } = await owner.entry(id, `?bodyBytes=${64 * KIB}`);
  expect([status, Buffer.from(body.body, 'base64').length, body.size]).toEqual([200, 64 * KIB, 20 * MIB]);
  await eventually(async () => (await scrape(api.internalPort)).value('hookbay_answer_bytes') === 0);
});

test('a share link that hides secrets takes bodyBytes', async () => {
  await store('0123456789');
  const holder = await holderOfEndpoint(api.url, owner, endpointId);
  const { requests } = (await holder.list(endpointId, '?bodyBytes=3')).body;
  expect(requests).toMatchObject([{ body: '012', body_truncated: true }]);
  expect((await holder.entry(requests[0]?.id ?? '', '?bodyBytes=3')).body.body).toBe('012');
});
