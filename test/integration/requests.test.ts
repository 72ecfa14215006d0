import { beforeEach, describe, expect, test } from 'vitest';
import { firstIdAt, idToBytes } from '../../src/domain/ids.ts';
import { captureOne, client, mintToken, type Client, type Receipt } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';

const UNKNOWN_ID = '01890a5d-ac96-774b-bcce-b302099a8057';

let environment: Environment;
let url: string;
let owner: Client;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
  owner = client(url, mintToken('ann'));
});
beforeEach(async () => {
  endpointId = (await owner.create()).body.id;
});

async function captureMany(count: number): Promise<Receipt[]> {
  const receipts: Receipt[] = [];
  for (let i = 0; i < count; i += 1) receipts.push(await captureOne(url, endpointId, { body: String(i) }));
  return receipts;
}

describe('GET /api/endpoints/:id/requests', () => {
  test('newest first by arrival, fifty by default, with total, limit and offset [Order of entries; `total`; Keyset paging (extra)]', async () => {
    const receipts = await captureMany(55);
    const newestFirst = receipts.map(({ id }) => id).toReversed();
    const { status, body } = await owner.list(endpointId);
    expect(status).toBe(200);
    expect(body).toMatchObject({ total: 55, limit: 50, offset: 0 });
    expect(body.requests.map(({ id }) => id)).toEqual(newestFirst.slice(0, 50));
    const rest = (await owner.list(endpointId, '?limit=10&offset=50')).body;
    expect(rest.requests.map(({ id }) => id)).toEqual(newestFirst.slice(50));
    // Given at the commit, and jobs may commit in another order than their captures arrived.
    const seqs = [...body.requests, ...rest.requests].map(({ seq }) => seq);
    expect(seqs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 55 }, (_, i) => i + 1));
    expect((await owner.list(endpointId, '?offset=1000')).body).toEqual({
      requests: [],
      total: 55,
      limit: 50,
      offset: 1000,
    });
    const keyset = (await owner.list(endpointId, `?limit=3&before=${newestFirst[9]}`)).body;
    expect(keyset.requests.map(({ id }) => id)).toEqual(newestFirst.slice(10, 13));
    expect(keyset.total).toBe(55);
  });

  test('limit over 200 is clamped and the effective value echoed [`limit`, `offset`]', async () => {
    for (const limit of ['201', '1000000000'])
      expect((await owner.list(endpointId, `?limit=${limit}`)).body.limit).toBe(200);
    expect((await owner.list(endpointId, '?limit=1')).body.limit).toBe(1);
  });

  test.each([
    'limit=0',
    'limit=-1',
    'limit=1e3',
    'limit=abc',
    'limit=',
    'limit=1.5',
    'limit=1&limit=2',
    'limit=NaN',
    'limit=0x10',
    'limit= 1',
    'offset=-1',
    'offset=abc',
    'offset=',
    'offset=1&offset=2',
    'offset=99999999999999999999',
    'before=x',
    'before=',
    "before=' OR 1=1",
  ])('400 for ?%s', async (query) => {
    const { status, body } = await owner.list(endpointId, `?${encodeURI(query)}`);
    expect([status, body]).toEqual([400, { error: expect.stringMatching(/^(limit|offset|before): /) }]);
  });

  test('a body over 256 KiB is cut at a character in lists and complete in detail [Very large bodies in lists]', async () => {
    const text = `x${'é'.repeat(200_000)}`;
    const { id } = await captureOne(url, endpointId, { body: text });
    const [listed] = (await owner.list(endpointId)).body.requests;
    expect(listed).toMatchObject({ body_truncated: true, body_encoding: 'utf8', size: 400_001 });
    expect(Buffer.byteLength(listed?.body ?? '')).toBe(256 * 1024 - 1);
    expect(text.startsWith(listed?.body ?? ' ')).toBe(true);
    const detail = (await owner.entry(id)).body;
    expect(detail.body).toBe(text);
    expect(detail).not.toHaveProperty('body_truncated');
    // A body that is binary only after the cut is base64 in both places.
    const binary = Buffer.concat([Buffer.alloc(300_000, 'a'), Buffer.from([0xff])]);
    await captureOne(url, endpointId, { body: binary });
    expect((await owner.list(endpointId, '?limit=1')).body.requests[0]).toMatchObject({
      body_encoding: 'base64',
      body_truncated: true,
    });
  });

  test('entries past retention are invisible at once: list, detail, body and total', async () => {
    const [old, young] = (await captureMany(2)) as [Receipt, Receipt];
    expect((await owner.list(endpointId)).body.total).toBe(2);
    // As if it had arrived 31 days ago; plan pro keeps entries for 30.
    const oldId = firstIdAt(Date.now() - 31 * 86_400_000);
    await environment.db
      .knex('requests')
      .where({ id: idToBytes(old.id) })
      .update({ id: idToBytes(oldId) });
    const { body } = await owner.list(endpointId);
    expect(body.total).toBe(1);
    expect(body.requests.map(({ id }) => id)).toEqual([young.id]);
    expect((await owner.entry(oldId)).status).toBe(404);
    expect((await owner.body(oldId)).status).toBe(404);
  });
});

describe('GET /api/requests/:id and its body', () => {
  test('the body is the exact bytes, as an attachment that no browser runs [`body`]', async () => {
    const bytes = Buffer.from([0x00, 0xff, 0xfe, 0x3c, 0x73, 0x3e, 0x0d, 0x0a]);
    const { id } = await captureOne(url, endpointId, { body: bytes, headers: ['Content-Type', 'text/html'] });
    const answer = await owner.body(id);
    expect(answer.status).toBe(200);
    expect(answer.bytes).toEqual(bytes);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${id}.bin"`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    });
    expect((await owner.entry(id)).body).toMatchObject({ body: bytes.toString('base64'), body_encoding: 'base64' });
  });

  test('unknown and malformed ids get the same 404', async () => {
    const bodies = new Set<string>();
    for (const id of [UNKNOWN_ID, 'nope', '0', '%00']) {
      for (const answer of [await owner.entry(id), await owner.body(id), await owner.remove(id)]) {
        expect(answer.status).toBe(404);
        bodies.add(answer.bytes.toString());
      }
    }
    expect([...bodies]).toEqual(['{"error":"Not found"}']);
  });
});

describe('DELETE', () => {
  test('one entry: removed from detail, list and total, while request_count stays', async () => {
    const [first, second] = (await captureMany(2)) as [Receipt, Receipt];
    expect(await owner.remove(first.id)).toMatchObject({ status: 200, body: { success: true } });
    expect((await owner.entry(first.id)).status).toBe(404);
    expect((await owner.remove(first.id)).status).toBe(404);
    const { body } = await owner.list(endpointId);
    expect([body.total, body.requests.map(({ id }) => id)]).toEqual([1, [second.id]]);
    expect((await owner.endpoint(endpointId)).body.request_count).toBe(2);
  });

  test('a batch over several endpoints: unknown and repeated ids are ignored, 200 even when nothing is left [Batch delete]', async () => {
    const here = await captureMany(3);
    endpointId = (await owner.create()).body.id;
    const there = await captureMany(2);
    const ids = [...here.slice(0, 2), ...there].map(({ id }) => id);
    const requested = [...ids, ids[0]?.toUpperCase(), ids[1], UNKNOWN_ID];
    expect((await owner.removeMany(requested)).body).toEqual({ success: true, deleted: 4 });
    expect((await owner.removeMany(requested)).body).toEqual({ success: true, deleted: 0 });
    expect((await owner.list(endpointId)).body.total).toBe(0);
    expect((await owner.entry(here[2]?.id ?? '')).status).toBe(200);
  });

  test('a thousand ids at once', async () => {
    const [receipt] = await captureMany(1);
    const ids = [
      receipt?.id,
      ...Array.from({ length: 999 }, (_, i) => `01890a5d-ac96-774b-bcce-${i.toString(16).padStart(12, '0')}`),
    ];
    expect((await owner.removeMany(ids)).body).toEqual({ success: true, deleted: 1 });
    expect((await owner.removeMany([...ids, UNKNOWN_ID])).status).toBe(400);
  });

  test.each([
    ['no ids', {}],
    ['empty', { ids: [] }],
    ['no list', { ids: UNKNOWN_ID }],
    ['zero', { ids: [0] }],
    ['true', { ids: [true] }],
    ['null', { ids: [null] }],
    ['an object', { ids: [{}] }],
    ['a nested list', { ids: [[UNKNOWN_ID]] }],
    ['SQL', { ids: ["' OR 1=1 -- "] }],
    ['a wildcard', { ids: ['%'] }],
    ['a trailing space', { ids: [`${UNKNOWN_ID} `] }],
    ['an unknown field', { ids: [UNKNOWN_ID], all: true }],
  ])('400 for %s, and nothing is deleted', async (_name, body) => {
    const [receipt] = await captureMany(1);
    const answer = await owner.call('DELETE', '/api/requests', body);
    expect([answer.status, answer.body]).toEqual([400, { error: expect.any(String) }]);
    expect((await owner.entry(receipt?.id ?? '')).status).toBe(200);
  });

  test('400 when no body is sent', async () => {
    const answer = await owner.call('DELETE', '/api/requests');
    expect([answer.status, answer.body]).toEqual([400, { error: expect.any(String) }]);
  });
});
