import { describe, expect, test } from 'vitest';
import { idToBytes } from '../../src/domain/ids.ts';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { eventually, useEnvironment, type Environment } from '../support/environment.ts';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UNKNOWN_ID = '7d444840-9dc0-41d1-b245-5ffdce74fad2';

let environment: Environment;
let url: string;
let users = 0;

/** A new user, so that tests do not see each other's endpoints. */
function newUser(claims: Record<string, unknown> = { plan: 'pro' }): Client {
  users += 1;
  return client(url, mintToken(`user-${users}`, claims));
}

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
});

describe('POST /api/endpoints', () => {
  test('an empty, absent or default body gives a time-limited endpoint of 168 hours [Create: body; Default lifetime; Create accepts]', async () => {
    const owner = newUser();
    for (const body of [undefined, '{}', '{"permanent":false}', '{"alias":null}']) {
      const before = Date.now();
      const answer = await owner.create(body);
      expect(answer.status).toBe(201);
      const { id, createdAt, expiresAt } = answer.body;
      expect(answer.body).toEqual({
        id: expect.stringMatching(UUID_V4),
        url: `https://hooks.example.com/h/${id}`,
        expiresAt: expect.stringMatching(ISO),
        isPermanent: false,
        createdAt: expect.stringMatching(ISO),
      });
      expect(Date.parse(expiresAt ?? '') - Date.parse(createdAt)).toBe(168 * 3_600_000);
      expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(before);
    }
    const noLength = await send(`${url}/api/endpoints`, {
      method: 'POST',
      headers: ['Authorization', `Bearer ${mintToken('user-1')}`, 'Transfer-Encoding', 'chunked'],
      body: '',
    });
    expect(noLength.status).toBe(201);
  });

  test("permanent: no expiry, up to the number of the plan, also with concurrent requests [Create: permanent over the plan's number]", async () => {
    const owner = newUser({ plan: 'free' });
    const answers = await Promise.all(Array.from({ length: 12 }, () => owner.create({ permanent: true })));
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(3);
    expect(created[0]?.body).toMatchObject({ expiresAt: null, isPermanent: true });
    for (const refused of answers.filter(({ status }) => status !== 201)) {
      expect(refused.status).toBe(403);
      expect(refused.body).toEqual({ error: expect.stringContaining('3 permanent') });
    }
    await owner.removeEndpoint(created[0]?.body.id ?? '');
    expect((await owner.create({ permanent: true })).status).toBe(201);
  });

  test('an alias gives a second address; a taken one is 409, also for its owner, and free again after a delete [Alias]', async () => {
    const owner = newUser();
    const { status, body } = await owner.create({ alias: 'billing-events' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      url: `https://hooks.example.com/h/${body.id}`,
      aliasUrl: 'https://hooks.example.com/h/billing-events',
    });
    const taken = await newUser().create({ alias: 'billing-events' });
    expect(taken.status).toBe(409);
    expect(taken.body).toEqual({ error: expect.stringContaining('billing-events') });
    await captureOne(url, 'billing-events');
    await owner.removeEndpoint(body.id);
    const again = await newUser().create({ alias: 'billing-events' });
    expect(again.status).toBe(201);
    // The alias is the new endpoint's from now on, on every pod.
    await captureOne(url, 'billing-events');
    const record = await environment.db.knex('requests').where({ endpoint_id: idToBytes(again.body.id) });
    await eventually(
      async () => (await environment.db.knex('requests').where({ endpoint_id: idToBytes(again.body.id) })).length === 1,
    );
    expect(record.length).toBeLessThanOrEqual(1);
  });

  test('an alias needs a plan that has them', async () => {
    const { status, body } = await newUser({ plan: 'free' }).create({ alias: 'some-hook' });
    expect(status).toBe(403);
    expect(body).toEqual({ error: expect.stringContaining('free') });
  });

  test.each([
    ['ab'],
    ['a'.repeat(49)],
    ['Upper-Case'],
    ['-leading'],
    ['trailing-'],
    ['under_score'],
    ['spa ce'],
    ['ümlaut'],
    ['admin'],
    ['7d444840-9dc0-11d1-b245-5ffdce74fad2'],
    [''],
  ])('400 for the alias %j', async (alias) => {
    const { status, body } = await newUser().create({ alias });
    expect(status).toBe(400);
    expect(body).toEqual({ error: expect.stringMatching(/alias/) });
  });

  test.each([
    ['wrong type of permanent', '{"permanent":"yes"}', 400, /permanent/],
    ['wrong type of alias', '{"alias":7}', 400, /alias/],
    ['an unknown field', '{"expiresAt":"2030-01-01"}', 400, /expiresAt/],
    ['__proto__', '{"__proto__":{"permanent":true}}', 400, /./],
    ['an array', '[]', 400, /./],
    ['a number', '1', 400, /./],
    ['null', 'null', 400, /./],
    ['broken JSON', '{"permanent":', 400, /./],
    ['65 KiB', `{"alias":"${'a'.repeat(65 * 1024)}"}`, 413, /./],
  ])('refuses %s', async (_name, body, status, message) => {
    const answer = await newUser().create(body);
    expect([answer.status, answer.body]).toEqual([status, { error: expect.stringMatching(message) }]);
  });

  test.each([
    ['60 KB', 'x'.repeat(60_000)],
    ['thousands of names', Array.from({ length: 5_000 }, (_, i) => `n${i}`).join('":1,"')],
    ['control characters', '\\u0000\\u0007\\u001b[31m\\r\\nX-Injected: 1\\u009b'],
    ['what turns text around', '\\u202eevil\\u2066\\u2028'],
    ['half a character', '\\ud83d'],
  ])('cuts and cleans an unknown name that it quotes: %s', async (_name, field) => {
    const { status, body, bytes } = await newUser().create(`{"${field}":1}`);
    expect([status, body]).toEqual([400, { error: expect.stringContaining(': Unrecognized key: "') }]);
    expect(bytes.length).toBeLessThan(300);
    expect((body as unknown as { error: string }).error).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
  });

  test('refuses a body without a JSON content type, and does not apply the defaults', async () => {
    const answer = await send(`${url}/api/endpoints`, {
      method: 'POST',
      headers: ['Authorization', `Bearer ${mintToken('ann')}`, 'Content-Type', 'application/x-www-form-urlencoded'],
      body: '{"permanent":true}',
    });
    expect([answer.status, answer.body]).toEqual([415, { error: expect.stringContaining('application/json') }]);
    const broken = await send(`${url}/api/endpoints`, {
      method: 'POST',
      headers: [
        'Authorization',
        `Bearer ${mintToken('ann')}`,
        'Content-Type',
        'application/json',
        'Content-Encoding',
        'gzip',
      ],
      body: 'not gzip',
    });
    expect([broken.status, broken.body]).toEqual([400, { error: expect.any(String) }]);
  });
});

describe('GET /api/endpoints', () => {
  test('lists own endpoints newest first, each with every field, and the usage of the day [`expires_at` / `expiresAt` of a permanent endpoint; `last_request_at` before the first capture]', async () => {
    const owner = newUser({ plan: 'free' });
    const first = (await owner.create()).body;
    const second = (await owner.create({ permanent: true })).body;
    const receipt = await captureOne(url, first.id);
    const { status, body } = await owner.endpoints();
    expect(status).toBe(200);
    expect(body.endpoints.map(({ id }) => id)).toEqual([second.id, first.id]);
    expect(body.endpoints[1]).toEqual({
      id: first.id,
      user_id: `user-${users}`,
      alias: null,
      is_permanent: 0,
      expires_at: first.expiresAt,
      request_count: 1,
      last_request_at: new Date(receipt.timestamp).toISOString(),
      created_at: first.createdAt,
      updated_at: new Date(receipt.timestamp).toISOString(),
    });
    expect(body.endpoints[0]).toMatchObject({
      is_permanent: 1,
      expires_at: null,
      request_count: 0,
      last_request_at: null,
    });
    expect(body.usage).toEqual({ dailyRequests: 1, dailyRequestsMax: 10_000 });
  });

  test('dailyRequestsMax of an unlimited plan is null [`dailyRequestsMax` of an unlimited plan]', async () => {
    const unlimited = await environment.startApi({ PLANS: '{"boundless":{"dailyRequests":null}}' });
    const { body } = await client(unlimited.url, mintToken('zoe', { plan: 'boundless' })).endpoints();
    expect(body).toEqual({
      endpoints: [],
      usage: { dailyRequests: 0, dailyRequestsMax: null },
      total: 0,
      limit: 1000,
      offset: 0,
    });
  });

  test('leaves out expired endpoints, whose detail and entries stay readable [Expired endpoint, management]', async () => {
    const owner = newUser();
    const { id } = (await owner.create()).body;
    const { id: entryId } = await captureOne(url, id, { body: 'kept' });
    expect((await owner.entry(entryId)).status).toBe(200);
    await environment.db
      .knex('endpoints')
      .where({ id: idToBytes(id) })
      .update({ expires_at: new Date(Date.now() - 1) });
    expect((await owner.endpoints()).body.endpoints).toEqual([]);
    expect((await owner.endpoint(id)).status).toBe(200);
    expect((await owner.list(id)).body.requests[0]?.body).toBe('kept');
    expect((await owner.entry(entryId)).body.body).toBe('kept');
  });
});

describe('GET and DELETE /api/endpoints/:id', () => {
  test('the detail is the record of the list', async () => {
    const owner = newUser();
    const { id } = (await owner.create({ alias: `detail-${users}` })).body;
    expect((await owner.endpoint(id.toUpperCase())).body).toEqual((await owner.endpoints()).body.endpoints[0]);
  });

  test('a delete removes the endpoint at once and its entries in the background', async () => {
    const owner = newUser();
    const { id } = (await owner.create()).body;
    const receipts = [];
    for (let i = 0; i < 5; i += 1) receipts.push(await captureOne(url, id));
    await environment.drained();
    expect(await owner.removeEndpoint(id)).toMatchObject({ status: 200, body: { success: true } });
    expect((await owner.endpoint(id)).status).toBe(404);
    expect((await owner.list(id)).status).toBe(404);
    for (const receipt of receipts) expect((await owner.entry(receipt.id)).status).toBe(404);
    expect((await owner.removeEndpoint(id)).status).toBe(404);
    const { knex } = environment.db;
    await eventually(async () => (await knex('requests').where({ endpoint_id: idToBytes(id) })).length === 0);
    await eventually(async () => (await knex('purges')).length === 0);
    // Deleted entries still count for the day.
    expect((await owner.endpoints()).body.usage.dailyRequests).toBe(5);
  });

  test('unknown and malformed ids get the same 404', async () => {
    const owner = newUser();
    const bodies = new Set<string>();
    for (const id of [UNKNOWN_ID, 'not-a-uuid', '0', "' OR 1=1 --", '%00', '%zz', '.', 'a'.repeat(3000)]) {
      for (const answer of [
        await owner.endpoint(encodeURI(id)),
        await owner.removeEndpoint(encodeURI(id)),
        await owner.list(encodeURI(id)),
      ]) {
        expect([id, answer.status]).toEqual([id, 404]);
        bodies.add(answer.bytes.toString());
      }
    }
    expect([...bodies]).toEqual(['{"error":"Not found"}']);
  });
});

describe('other routes and methods', () => {
  test('404 for unknown routes, 405 with Allow for other methods on known ones [404 for other routes, 405 for other methods on known routes]', async () => {
    for (const path of ['/api', '/api/endpoint', '/hx', '/openapi', '/api/endpoints/a/b/c']) {
      const answer = await send(`${url}${path}`);
      expect([path, answer.status, answer.body]).toEqual([path, 404, { error: expect.any(String) }]);
    }
    for (const [method, path, allowed] of [
      ['PUT', '/api/endpoints', 'HEAD, GET, POST'],
      ['PATCH', `/api/endpoints/${UNKNOWN_ID}`, 'HEAD, GET, DELETE'],
      ['POST', `/api/requests/${UNKNOWN_ID}`, 'HEAD, GET, DELETE'],
    ] as const) {
      const answer = await send(`${url}${path}`, { method });
      expect([method, path, answer.status, answer.body]).toEqual([method, path, 405, { error: expect.any(String) }]);
      expect(answer.headers.allow?.split(', ').toSorted()).toEqual(allowed.split(', ').toSorted());
    }
  });
});
