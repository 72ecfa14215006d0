import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../src/redis/keys.ts';
import { firstIdAt, newTimeOrderedId, timeOfId } from '../../src/domain/ids.ts';
import type { LogEntry } from '../../src/domain/answers.ts';
import type { NumberedCapture } from '../../src/store/capture-batches.ts';
import { insertRequests } from '../../src/store/capture-batches.ts';
import { inTransaction } from '../../src/store/database.ts';
import { scanBack, scanForward } from '../../src/store/find.ts';
import { isOverTime, isUnavailable } from '../../src/store/sql-errors.ts';
import { selectInTime } from '../../src/store/timed-select.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, type Answer, type Client } from '../support/client.ts';
import { eventually, useEnvironment, type Environment } from '../support/environment.ts';

const MIB = 1024 * 1024;

interface Found {
  requests: LogEntry[];
  total?: number;
  total_partial?: true;
  limit: number;
  offset?: number;
  scanned?: number;
  body_skipped?: number;
  next?: string | null;
}

let environment: Environment;
let url: string;
let owner: Client;
let stranger: Client;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
  owner = client(url, mintToken('ann', { plan: 'enterprise' }));
  stranger = client(url, mintToken('eve'));
});

const find = (id: string, query: string, user = owner): Promise<Answer<Found>> =>
  user.call<Found>('GET', `/api/endpoints/${id}/requests?${query}`);

/** Stores entries as a worker does, in one transaction; returns their endpoint and their ids, newest first. */
async function store(count: number, fields: (i: number) => Parameters<typeof makeCapture>[1], user = owner) {
  const { id } = (await user.create()).body;
  const captures = Array.from({ length: count }, (_, i) => makeCapture(id, fields(i)));
  await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-11-22', captures }]);
  return { id, ids: captures.map((capture) => capture.id).toReversed() };
}

/** Adds small entries fast, without their books. */
async function fill(id: string, count: number, body = 'x'): Promise<void> {
  for (let seq = 1; seq <= count;) {
    const captures = Array.from({ length: Math.min(6_400, count - seq + 1) }, (): NumberedCapture => {
      return { ...makeCapture(id, { id: newTimeOrderedId(), body: Buffer.from(body) }), seq: seq++ };
    });
    await inTransaction(environment.db.pool, (connection) => insertRequests(connection, captures));
  }
}

const idsOf = ({ body }: Answer<Found>): string[] => body.requests.map(({ id }) => id);

describe('by content [Find: by content]', () => {
  test('each part finds a capture as it was sent, and all together', async () => {
    const { id } = (await owner.create()).body;
    const sent = { method: 'PUT', headers: ['X-Topic', 'Orders/Create'], body: '{"order":{"lines":["née"]}}' };
    const receipt = await captureOne(url, `${id}/orders/7?page=2`, sent);
    await captureOne(url, `${id}/other`, { body: '{"order":{"lines":["no"]}}' });
    const parts = [
      'path=/orders',
      'q=N%C3%A9E',
      'q=PAGE=2',
      'q=orders/create',
      'header=x-topic',
      'header=x-topic:%20orders',
      `json=$.order.lines[0]=${encodeURIComponent('née')}`,
    ];
    for (const query of [
      parts[0] as string,
      'header=x-topic',
      parts[6] as string,
      `method=PUT&${parts.slice(3).join('&')}`,
    ]) {
      const answer = await find(id, query);
      expect([query, answer.status, idsOf(answer)]).toEqual([query, 200, [receipt.id]]);
      expect(answer.body).toMatchObject({ limit: 50, scanned: 2, body_skipped: 0, next: null });
    }
    expect(idsOf(await find(id, parts[2] as string))).toEqual([receipt.id]);
    // ASCII case alone is ignored: É is another letter than é.
    expect(idsOf(await find(id, 'q=N%C3%A9E'))).toEqual([receipt.id]);
    expect(idsOf(await find(id, 'q=N%C3%89E'))).toEqual([]);
    expect(Object.keys((await find(id, 'q=orders')).body)).toEqual([
      'requests',
      'limit',
      'scanned',
      'body_skipped',
      'next',
    ]);
    expect((await find(id, 'q=orders&raw=true')).body.requests[0]?.target).toBe(`/h/${id}/orders/7?page=2`);
  });

  test('newest first, page by page: `next` goes on where a page ended', async () => {
    const { id, ids } = await store(250, (i) => ({ body: Buffer.from(i % 2 === 0 ? 'needle' : 'hay') }));
    const wanted = ids.filter((_id, i) => i % 2 === 1);
    const seen: string[] = [];
    let before = '';
    for (let page = 0; page < 20; page += 1) {
      const answer = await find(id, `q=needle&limit=30${before}`);
      seen.push(...idsOf(answer));
      if (answer.body.next === null) break;
      before = `&before=${answer.body.next}`;
    }
    expect(seen).toEqual(wanted);
  });

  test('no entry of another user: their endpoint is not found, and a scan of it looks at nothing', async () => {
    const { id, ids } = await store(3, () => ({ body: Buffer.from('a secret') }));
    const foreign = await find(id, 'q=secret', stranger);
    const unknown = await find('7c9e6679-7425-40de-944b-e07fc1f90ae7', 'q=secret', stranger);
    expect([foreign.status, foreign.bytes]).toEqual([404, unknown.bytes]);
    expect((await find(id, 'method=POST', stranger)).status).toBe(404);
    const filter = { text: 'secret', headers: [], json: [] };
    const reader = { userId: 'eve', since: null };
    expect(await scanBack(environment.db, reader, id, filter, { limit: 9 })).toMatchObject({ entries: [], scanned: 0 });
    expect(await scanForward(environment.db, reader, id, filter, { limit: 9, after: 0, maxBody: 9 })).toMatchObject({
      requests: [],
      scanned: 0,
      last: 0,
    });
    expect(idsOf(await find(id, 'q=secret'))).toEqual(ids);
  });

  test('entries past retention are not found', async () => {
    const free = client(url, mintToken('fred', { plan: 'free' }));
    const old = '01890a5d-ac96-774b-bcce-b302099a8057';
    const { id, ids } = await store(2, (i) => ({ userId: 'fred', ...(i === 0 && { id: old }) }), free);
    for (const query of ['header=host', 'method=POST', 'since=2000-01-01'])
      expect([query, idsOf(await find(id, query, free))]).toEqual([query, ids.slice(0, 1)]);
    const filter = { headers: [], json: [] };
    const reader = { userId: 'fred', since: timeOfId(old) + 1 };
    const forward = await scanForward(environment.db, reader, id, filter, { limit: 9, after: 0, maxBody: 9 });
    expect(forward.requests.map((request) => request.id)).toEqual(ids.slice(0, 1));
  });

  test('bodies over 1 MiB are not searched, and neither is JSON over 128 KiB; both are counted', async () => {
    const long = Buffer.from(`${'x'.repeat(MIB)}needle`);
    const { id, ids } = await store(3, (i) => ({
      body: i === 1 ? Buffer.from('{"a":"needle"}'.padEnd(200_000)) : i === 2 ? long : Buffer.from('{"a":"needle"}'),
      rawHeaders: i === 2 ? ['X-Kind', 'long needles'] : ['Host', 'x'],
    }));
    expect((await find(id, 'q=xxneedle')).body).toMatchObject({ requests: [], scanned: 3, body_skipped: 1 });
    const found = await find(id, 'q=needle');
    expect(idsOf(found)).toEqual(ids);
    expect(found.body.requests[0]).toMatchObject({ size: long.length, body_truncated: true });
    const json = await find(id, 'json=$.a=needle');
    expect([idsOf(json), json.body.body_skipped]).toEqual([ids.slice(2), 2]);
    expect((await find(id, 'header=x-kind')).body).toMatchObject({ body_skipped: 0, scanned: 3 });
  });
});

describe('bounds of a scan [Find: bounds]', () => {
  test('it ends after 50,000 entries and says where to go on, in both directions', async () => {
    const { id } = (await owner.create()).body;
    await fill(id, 50_150);
    const filter = { text: 'needle', headers: [], json: [] };
    const reader = { userId: 'ann', since: null };
    // A slow machine ends a scan by time, before that.
    let scanned = 0;
    let before: string | undefined;
    for (let done = false; !done;) {
      const found = await scanBack(environment.db, reader, id, filter, { limit: 5, before });
      expect(found.scanned).toBeLessThanOrEqual(50_000 + 1_000);
      expect(found.entries).toEqual([]);
      expect(found.scanned).toBeGreaterThan(0);
      scanned += found.scanned;
      ({ done } = found);
      before = found.last;
    }
    expect(scanned).toBe(50_150);
    let after = 0;
    for (let done = false; !done;) {
      const found = await scanForward(environment.db, reader, id, filter, { limit: 5, after, maxBody: 9 });
      expect(found.last).toBe(after + found.scanned);
      ({ done } = found);
      after = found.last;
    }
    expect(after).toBe(50_150);

    // Method and time look at 10,000 entries.
    const page = (await find(id, 'method=PUT')).body;
    expect(page).toMatchObject({ requests: [], total: 0, total_partial: true, limit: 50, offset: 0 });
    const next = (await find(id, `method=PUT&before=${page.next}`)).body;
    expect((next.next as string) < (page.next as string)).toBe(true);
    const posts = (await find(id, 'method=POST&limit=7&offset=2')).body;
    expect(posts).toMatchObject({ total: 10_000, total_partial: true, limit: 7, offset: 2 });
    expect(posts.next).toBe(posts.requests.at(-1)?.id);
  });

  test('a client that goes away ends its scan', async () => {
    const { id } = (await owner.create()).body;
    await fill(id, 3_000);
    const aborted = AbortSignal.abort();
    const filter = { text: 'needle', headers: [], json: [] };
    const reader = { userId: 'ann', since: null };
    const found = await scanBack(environment.db, reader, id, filter, { limit: 5, signal: aborted });
    expect(found).toMatchObject({ entries: [], scanned: 100, done: false });
  });
});

test('a statement ends after a second, and its error means "try again" [Find: bounds]', async () => {
  await fill((await owner.create()).body.id, 3_000);
  const start = performance.now();
  // With a condition, because MySQL multiplies the numbers of rows otherwise.
  const sql = 'COUNT(*) FROM requests AS a JOIN requests AS b JOIN requests AS c WHERE a.size + b.size + c.size >= 0';
  const endless = selectInTime(environment.db.pool, sql, []);
  const error = await endless.catch((thrown: unknown) => thrown);
  expect([isOverTime(error), isUnavailable(error)]).toEqual([true, true]);
  expect(performance.now() - start).toBeLessThan(5_000);
});

describe('one search of a user at a time [Find: bounds]', () => {
  const lease = (): string => redisKeys(environment.config.redis.prefix).scanLease('ann');

  test('429 while another process searches for the user; other users and lists are served', async () => {
    const { id } = await store(1, () => ({}));
    const theirs = await store(1, () => ({ userId: 'eve' }), stranger);
    await environment.redis.set(lease(), 'another process', 'PX', 20_000);
    const refused = await find(id, 'q=needle');
    expect([refused.status, refused.headers['retry-after'], refused.body]).toEqual([
      429,
      '2',
      { error: 'Another search of yours is running; wait for its answer' },
    ]);
    expect((await find(id, 'method=POST')).status).toBe(200);
    expect((await find(theirs.id, 'q=needle', stranger)).status).toBe(200);
    await environment.redis.del(lease());
    expect((await find(id, 'q=needle')).status).toBe(200);
    expect(await environment.redis.exists(lease())).toBe(0);
  });

  test('of ten searches at once at least one is answered, and each other one is refused or follows it', async () => {
    const { id } = (await owner.create()).body;
    await fill(id, 3_000);
    const answers = await Promise.all(Array.from({ length: 10 }, () => find(id, 'q=needle')));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 429)).toContain(200);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect((await find(id, 'q=needle')).status).toBe(200);
  });

  test('the lease is free again after a client went away', async () => {
    const { id } = (await owner.create()).body;
    await fill(id, 3_000);
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `GET /api/endpoints/${id}/requests?q=needle HTTP/1.1\r\nHost: x\r\n` +
        `Authorization: Bearer ${mintToken('ann', { plan: 'enterprise' })}\r\n\r\n`,
    );
    socket.destroy();
    await eventually(async () => (await find(id, 'q=needle')).status === 200);
    expect(await environment.redis.exists(lease())).toBe(0);
  });
});

describe('by method and time [Find: by method and time]', () => {
  test('pages keep their shape, and the total counts matches', async () => {
    const { id, ids } = await store(9, (i) => ({ method: i % 3 === 0 ? 'PUT' : 'POST' }));
    const puts = ids.filter((_id, i) => i % 3 === 2);
    const first = await find(id, 'method=put,DELETE&limit=2');
    expect(first.body).toEqual({ requests: first.body.requests, total: 3, limit: 2, offset: 0, next: puts[1] });
    expect(idsOf(first)).toEqual(puts.slice(0, 2));
    const rest = await find(id, `method=PUT&limit=2&before=${first.body.next}`);
    expect([idsOf(rest), rest.body.total, rest.body.next]).toEqual([puts.slice(2), 3, null]);
    expect(idsOf(await find(id, 'method=PUT&offset=1'))).toEqual(puts.slice(1));
    expect(Object.keys((await find(id, '')).body)).toEqual(['requests', 'total', 'limit', 'offset']);
  });

  test('since is included and until is not', async () => {
    const start = Date.now();
    const { id, ids } = await store(3, (i) => ({ id: firstIdAt(start + i) }));
    const [c, b, a] = ids as [string, string, string];
    const at = new Date(start + 1).toISOString();
    expect((await find(id, `since=${at}`)).body).toMatchObject({ total: 2, requests: [{ id: c }, { id: b }] });
    expect((await find(id, `until=${at}`)).body).toMatchObject({ total: 1, requests: [{ id: a }] });
    expect((await find(id, `since=${at}&until=${at}`)).body).toMatchObject({ total: 0, requests: [] });
    expect(idsOf(await find(id, `since=${at}&q=host`))).toEqual([c, b]);
  });
});

test.each([
  ['q=ab', 'q: must be a text of 3 to 200 bytes'],
  ['method=', 'method: must be methods like POST,PUT'],
  ['path=orders', 'path: must be the start of a path, like /orders, of at most 1000 bytes'],
  ['header=a%20b', 'header: must be a name or name:text, at most 4 times'],
  ['header=a&header=b&header=c&header=d&header=e', 'header: must be a name or name:text, at most 4 times'],
  ['json=a', 'json: must be like $.a.b[0]=value, at most 4 times'],
  ['since=now', 'since: must be like 2026-11-22T10:00:00Z or 2026-11-22, in UTC'],
  ['q=abc&offset=0', 'offset: must be absent with path, q, header and json; use before'],
])('%s is 400 [Find: by content]', async (query, error) => {
  const { id } = (await owner.create()).body;
  const answer = await find(id, query);
  expect([answer.status, answer.body]).toEqual([400, { error }]);
});
