import { expect, test } from 'vitest';
import { idToBytes, newEndpointId } from '../../src/domain/ids.ts';
import { client, mintToken } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';

const HOUR_MS = 3_600_000;
const PLANS =
  '{"small":{"endpoints":5,"permanentEndpoints":2},"boundless":{"endpoints":null,"permanentEndpoints":null}}';

let environment: Environment;
let pods: { url: string }[];
useEnvironment(async (opened) => {
  environment = opened;
  pods = [await environment.startApi({ PLANS }), await environment.startApi({ PLANS })];
});

const as = (user: string, plan: string, pod = 0) => client(pods[pod]?.url ?? '', mintToken(user, { plan }));

/** Inserts endpoints into the database, several of the same millisecond; returns their ids, newest first. */
async function insertMany(user: string, count: number, expiresAt = new Date(Date.now() + HOUR_MS)): Promise<string[]> {
  const now = Date.now();
  const rows = Array.from({ length: count }, (_, i) => ({
    id: newEndpointId(),
    user_id: Buffer.from(user),
    alias: null,
    is_permanent: 0,
    expires_at: expiresAt,
    created_at: new Date(now - Math.floor(i / 3)),
    updated_at: new Date(now),
  }));
  for (let i = 0; i < count; i += 500)
    await environment.db
      .knex('endpoints')
      .insert(rows.slice(i, i + 500).map((row) => ({ ...row, id: idToBytes(row.id) })));
  return rows
    .toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);
}

test("a plan's number of endpoints is a limit over all pods, permanent or not; expired ones do not count [Create: over the plan's number of endpoints]", async () => {
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, i) => as('ann', 'small', i % 2).create({ permanent: i % 12 === 0 })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
  for (const { body } of answers.filter(({ status }) => status === 403))
    expect(body).toEqual({ error: 'Your plan allows 5 endpoints, and you have 5' });
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 403]));
  const owner = as('ann', 'small');
  await owner.removeEndpoint(answers.find(({ status }) => status === 201)?.body.id ?? '');
  expect((await owner.create()).status).toBe(201);
  expect((await owner.create()).status).toBe(403);
  await environment.db
    .knex('endpoints')
    .where({ user_id: Buffer.from('ann'), is_permanent: 0 })
    .limit(1)
    .update({ expires_at: new Date(Date.now() - 1) });
  expect((await owner.create()).status).toBe(201);
  expect((await as('ann', 'boundless').create()).status).toBe(201);
});

test('a user with more than the plan allows keeps them, and gets no more', async () => {
  await insertMany('bea', 7);
  const owner = as('bea', 'small');
  expect((await owner.create()).body).toEqual({ error: 'Your plan allows 5 endpoints, and you have 7' });
  expect((await owner.endpoints()).body).toMatchObject({ total: 7, limit: 1000, offset: 0 });
});

test('without parameters the list has up to 1,000 endpoints, newest first; pages have the rest, each endpoint once [Endpoints: `limit`, `offset`, `before`]', async () => {
  const ids = await insertMany('cyd', 2_350);
  await insertMany('cyd', 20, new Date(Date.now() - 1));
  await insertMany('somebody else', 30);
  const owner = as('cyd', 'pro');
  const first = (await owner.endpoints()).body;
  expect(first).toMatchObject({ total: 2_350, limit: 1_000, offset: 0, usage: { dailyRequests: 0 } });
  expect(first.endpoints.map(({ id }) => id)).toEqual(ids.slice(0, 1_000));
  const byKey: string[] = [];
  const byOffset: string[] = [];
  for (
    let page = first.endpoints;
    page.length > 0;
    { endpoints: page } = (await owner.endpoints(`?before=${byKey.at(-1)}`)).body
  )
    byKey.push(...page.map(({ id }) => id));
  for (let offset = 0; offset < 2_350; offset += 400) {
    const { body } = await owner.endpoints(`?limit=400&offset=${offset}`);
    expect(body).toMatchObject({ total: 2_350, limit: 400, offset });
    byOffset.push(...body.endpoints.map(({ id }) => id));
  }
  expect(byKey).toEqual(ids);
  expect(byOffset).toEqual(ids);
  // A limit that is too large is clamped; past the end the page is empty, and the total is right.
  expect((await owner.endpoints('?limit=5000')).body).toMatchObject({ limit: 1_000, total: 2_350 });
  expect((await owner.endpoints('?offset=9000')).body).toMatchObject({ endpoints: [], total: 2_350, offset: 9_000 });
  expect(
    (await owner.endpoints(`?before=${ids[9]?.toUpperCase()}&limit=2&offset=1`)).body.endpoints.map(({ id }) => id),
  ).toEqual(ids.slice(11, 13));
});

test('an expired endpoint is still valid as `before`', async () => {
  const [newer, last, older] = await insertMany('dee', 3);
  await environment.db
    .knex('endpoints')
    .where({ id: idToBytes(last ?? '') })
    .update({ expires_at: new Date(Date.now() - 1) });
  expect((await as('dee', 'pro').endpoints(`?before=${last}`)).body.endpoints.map(({ id }) => id)).toEqual([older]);
  expect((await as('dee', 'pro').endpoints()).body.endpoints.map(({ id }) => id)).toEqual([newer, older]);
});

test("400 for invalid parameters, and for a `before` that is not one of the user's endpoints", async () => {
  const [foreign] = await insertMany('eli', 1);
  const owner = as('fin', 'pro');
  for (const query of [
    'limit=0',
    'limit=-1',
    'limit=x',
    'limit=1.5',
    'limit=',
    'limit=1&limit=2',
    'offset=-1',
    'offset=1e3',
    'before=1',
    'before=',
  ]) {
    const { status, body } = await owner.endpoints(`?${query}`);
    expect([query, status, body]).toEqual([
      query,
      400,
      { error: expect.stringContaining(query.slice(0, query.indexOf('='))) },
    ]);
  }
  const answers = await Promise.all([foreign, newEndpointId()].map((id) => owner.endpoints(`?before=${id}`)));
  expect(answers.map(({ status }) => status)).toEqual([400, 400]);
  expect(answers[0]?.bytes).toEqual(answers[1]?.bytes);
});
