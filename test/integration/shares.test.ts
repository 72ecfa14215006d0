import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/management/operations.ts';
import { SHARED_ROUTES } from '../../src/api/auth/share-admission.ts';
import { idToBytes } from '../../src/domain/ids.ts';
import type { ShareRecord } from '../../src/domain/answers.ts';
import { captureOne, client, mintToken, send, type Answer, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startClient } from '../support/live/clients.ts';
import { holderOfEndpoint, holderOfEntry, shareEndpoint, shareEntry } from '../support/shares.ts';

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057';
const GONE = '{"error":"The share link has expired or was withdrawn"}';

let environment: Environment;
let url: string;
let otherUrl: string;
let owner: Client;
let stranger: Client;
let endpoint: string;
let entry: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
  ({ url: otherUrl } = await environment.startApi());
  owner = client(url, mintToken('ann'));
  stranger = client(url, mintToken('bob'));
});
beforeEach(async () => {
  endpoint = (await owner.create()).body.id;
  entry = (await captureOne(url, endpoint, { body: 'hello' })).id;
});

const rows = () => environment.db.knex('shares').where({ endpoint_id: idToBytes(endpoint) });
const listed = (path: string, user = owner) => user.call<{ shares: ShareRecord[] }>('GET', path);

describe('creating [Share link]', () => {
  test('gives a token once, of which the database has the hash only', async () => {
    const before = Date.now();
    const { status, body } = await shareEndpoint(owner, endpoint);
    expect([status, Object.keys(body)]).toEqual([201, ['id', 'token', 'url', 'expiresAt']]);
    expect(body.token).toMatch(/^hbs_[\w-]{43}$/);
    expect(body.url).toBe(`https://hooks.example.com/s#${body.token}`);
    expect(Date.parse(body.expiresAt) - before).toBeGreaterThanOrEqual(86_400_000);
    expect(Date.parse(body.expiresAt) - Date.now()).toBeLessThanOrEqual(86_400_000);
    const [row] = await rows();
    expect(row.token_hash).toEqual(createHash('sha256').update(body.token).digest());
    expect(JSON.stringify(Object.values(row).map(String))).not.toContain(body.token.slice(4));
    const answer = await listed(`/api/endpoints/${endpoint}/shares`);
    expect(answer.bytes.toString()).not.toContain(body.token.slice(4));
  });

  test('lists what is live: all of an endpoint, or those of one entry', async () => {
    const whole = (await shareEndpoint(owner, endpoint, { label: 'for Eve', redact: false, until: 'now' })).body;
    const one = (await shareEntry(owner, entry, { expiresIn: 300 })).body;
    const shares = (await listed(`/api/endpoints/${endpoint}/shares`)).body.shares;
    expect(shares.map(({ id }) => id).toSorted()).toEqual([whole.id, one.id].toSorted());
    expect(shares.find(({ id }) => id === whole.id)).toEqual({
      id: whole.id,
      endpoint_id: endpoint,
      request_id: null,
      label: 'for Eve',
      redact: false,
      until: expect.any(String),
      expires_at: whole.expiresAt,
      created_at: expect.any(String),
    });
    expect((await listed(`/api/requests/${entry}/shares`)).body.shares).toMatchObject([
      { id: one.id, request_id: entry, label: null, redact: true, until: null },
    ]);
    expect((await owner.call('DELETE', `/api/shares/${whole.id}`)).body).toEqual({ success: true });
    expect((await listed(`/api/endpoints/${endpoint}/shares`)).body.shares.map(({ id }) => id)).toEqual([one.id]);
  });

  test.each([
    ['expiresIn', { expiresIn: 299 }],
    ['expiresIn', { expiresIn: 2_592_001 }],
    ['expiresIn', { expiresIn: 300.5 }],
    ['expiresIn', { expiresIn: '300' }],
    ['redact', { redact: 0 }],
    ['redact', { redact: null }],
    ['label', { label: '' }],
    ['label', { label: 'x'.repeat(101) }],
    ['label', '{"label":"\\ud800"}'],
    ['until', { until: '2026-01-01' }],
    ['The message', { name: 'x' }],
    ['The message', '[]'],
  ])('400 that names %s for %j', async (field, body) => {
    const { status, bytes } = await shareEndpoint(owner, endpoint, body);
    expect([status, bytes.toString()]).toEqual([
      400,
      expect.stringContaining(`{"error":"${field === 'The message' ? 'The ' : field}`),
    ]);
    expect(await rows()).toEqual([]);
  });

  test.each([300, 2_592_000])('takes a lifetime of %i s', async (expiresIn) => {
    expect((await shareEntry(owner, entry, { expiresIn })).status).toBe(201);
  });

  test('an entry has no later ones: until is refused', async () => {
    expect((await shareEntry(owner, entry, { until: 'now' })).status).toBe(400);
  });

  test('an endpoint and its entries have 20 live links at most, also when they are created at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 26 }, (_, i) => (i % 2 === 0 ? shareEndpoint(owner, endpoint) : shareEntry(owner, entry))),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array(20).fill(201),
      ...Array(6).fill(403),
    ]);
    const refused = answers.find(({ status }) => status === 403);
    expect(refused?.body).toEqual({
      error: 'An endpoint and its entries can have 20 share links at a time; withdraw one first',
    });
    const live = answers.find(({ status }) => status === 201)?.body.id;
    await owner.call('DELETE', `/api/shares/${live}`);
    expect((await shareEndpoint(owner, endpoint)).status).toBe(201);
    expect((await shareEndpoint(owner, endpoint)).status).toBe(403);
  });

  test('rows of ended links stay few, and the latest of them are kept', async () => {
    const tokens: string[] = [];
    for (let n = 0; n < 120; n += 1) {
      const { id, token } = (await shareEndpoint(owner, endpoint)).body;
      tokens.push(token);
      await owner.call('DELETE', `/api/shares/${id}`);
    }
    expect(await rows()).toHaveLength(100);
    const statuses = [tokens[0], tokens[119]].map(
      async (token) => (await client(otherUrl, token ?? '').list(endpoint)).status,
    );
    expect(await Promise.all(statuses)).toEqual([401, 410]);
  });

  test('nothing of another user can be shared, listed or withdrawn', async () => {
    const { id } = (await shareEndpoint(owner, endpoint)).body;
    const attempts: ((
      endpointId: string,
      entryId: string,
      shareId: string,
    ) => Promise<{ status: number; bytes: Buffer }>)[] = [
      (endpointId) => shareEndpoint(stranger, endpointId),
      (_endpoint, entryId) => shareEntry(stranger, entryId),
      (endpointId) => listed(`/api/endpoints/${endpointId}/shares`, stranger),
      (_endpoint, entryId) => listed(`/api/requests/${entryId}/shares`, stranger),
      (_endpoint, _entry, shareId) => stranger.call('DELETE', `/api/shares/${shareId}`),
    ];
    for (const attempt of attempts) {
      const [foreign, missing, malformed] = [
        await attempt(endpoint, entry, id),
        await attempt(UNKNOWN, UNKNOWN, UNKNOWN),
        await attempt('x', 'x', 'x'),
      ];
      expect([foreign.status, foreign.bytes]).toEqual([404, missing.bytes]);
      expect([malformed.status, malformed.bytes]).toEqual([404, missing.bytes]);
    }
    expect((await listed(`/api/endpoints/${endpoint}/shares`)).body.shares).toHaveLength(1);
  });
});

describe('what a link opens [Share link: reach]', () => {
  const read = async (holder: Client, endpointId: string, entryId: string): Promise<number[]> => [
    (await holder.list(endpointId)).status,
    (await holder.entry(entryId)).status,
    (await holder.body(entryId)).status,
  ];

  test('one to an endpoint: its list, its entries and their bodies, what comes later too', async () => {
    const holder = await holderOfEndpoint(url, owner, endpoint);
    expect((await holder.entry(entry)).body).toMatchObject({ id: entry, body: 'hello' });
    expect((await holder.body(entry)).bytes.toString()).toBe('hello');
    const later = (await captureOne(url, endpoint)).id;
    const { requests, total } = (await holder.list(endpoint.toUpperCase(), '?limit=5')).body;
    expect([requests.map(({ id }) => id), total]).toEqual([[later, entry], 2]);
    const head = await send(`${url}/api/requests/${entry}`, {
      method: 'HEAD',
      headers: ['Authorization', `Bearer ${(await shareEndpoint(owner, endpoint)).body.token}`],
    });
    expect(head.status).toBe(200);
    expect((await holder.call('GET', '/api/share')).body).toEqual({
      endpoint_id: endpoint,
      request_id: null,
      redact: true,
      until: null,
      expires_at: expect.any(String),
    });
  });

  test('one to an entry: this entry and its body', async () => {
    const later = (await captureOne(url, endpoint)).id;
    const holder = await holderOfEntry(url, owner, entry);
    expect((await holder.entry(entry.toUpperCase())).body).toMatchObject({ id: entry, body: 'hello' });
    expect(await read(holder, endpoint, later)).toEqual([403, 404, 404]);
    expect((await holder.call('GET', '/api/share')).body).toMatchObject({ endpoint_id: endpoint, request_id: entry });
  });

  test('with until: now, what is there, also in the count', async () => {
    const holder = await holderOfEndpoint(url, owner, endpoint, { until: 'now' });
    const later = (await captureOne(url, endpoint)).id;
    expect((await owner.list(endpoint)).body.total).toBe(2);
    const { requests, total } = (await holder.list(endpoint)).body;
    expect([requests.map(({ id }) => id), total]).toEqual([[entry], 1]);
    expect(await read(holder, endpoint, later)).toEqual([200, 404, 404]);
    expect((await holder.list(endpoint, `?before=${later}`)).body.requests).toHaveLength(1);
  });

  test('404, the same for all, for other endpoints and entries, of its owner and of others', async () => {
    const second = (await owner.create()).body.id;
    const foreign = (await stranger.create()).body.id;
    const ids = [
      second,
      (await captureOne(url, second)).id,
      foreign,
      (await captureOne(url, foreign)).id,
      UNKNOWN,
      'x',
    ];
    await environment.drained();
    const holder = await holderOfEndpoint(url, owner, endpoint);
    const holderOfOne = await holderOfEntry(url, owner, entry);
    const answers = [];
    for (const id of ids) {
      answers.push(await holder.list(id), await holder.entry(id), await holder.body(id));
      answers.push(await holderOfOne.entry(id), await holderOfOne.body(id));
    }
    expect(new Set(answers.map(({ status, bytes }) => `${status} ${bytes.toString()}`))).toEqual(
      new Set(['404 {"error":"Not found"}']),
    );
  });

  test('403 on every other route, and nothing is done', async () => {
    const { id, token } = (await shareEndpoint(owner, endpoint)).body;
    const holders = [client(url, token), await holderOfEntry(url, owner, entry)];
    const refused = OPERATIONS.filter(({ guarded, method, path }) => guarded && !(method === 'get' && isShared(path)));
    expect(refused.length).toBeGreaterThan(10);
    for (const { method, path } of refused) {
      const target = path.includes('/shares/{id}') ? id : path.includes('/requests/{id}') ? entry : endpoint;
      for (const holder of holders) {
        const answer = await holder.call(method.toUpperCase(), path.replace('{id}', target), {
          ids: [entry],
          secret: 's',
        });
        expect([method, path, answer.status, answer.body]).toEqual([
          method,
          path,
          403,
          { error: 'A share link does not give access to this' },
        ]);
      }
    }
    expect((await owner.entry(entry)).status).toBe(200);
    expect((await listed(`/api/endpoints/${endpoint}/shares`)).body.shares).toHaveLength(2);
  });

  const isShared = (path: string): boolean => Object.hasOwn(SHARED_ROUTES, path.replaceAll(/\{(\w+)\}/g, ':$1'));

  test('every route in its list exists, and reads', () => {
    const reads = new Set(
      OPERATIONS.filter(({ method, guarded }) => method === 'get' && guarded).map(({ path }) => path),
    );
    expect(Object.keys(SHARED_ROUTES).filter((path) => !reads.has(path.replaceAll(/:(\w+)/g, '{$1}')))).toEqual([]);
  });

  test('the retention of its owner holds', async () => {
    const holder = await holderOfEndpoint(url, owner, endpoint);
    const old = `018${entry.slice(3)}`;
    await environment.drained();
    await environment.db
      .knex('requests')
      .where({ id: idToBytes(entry) })
      .update({ id: idToBytes(old) });
    expect((await holder.list(endpoint)).body).toMatchObject({ requests: [], total: 0 });
    expect((await holder.entry(old)).status).toBe(404);
    expect((await shareEntry(owner, old)).status).toBe(404);
  });

  test('a plan of its owner that is not configured any more is 403, as for the owner', async () => {
    const planless = client(url, mintToken('carl'));
    const { id } = (await planless.create()).body;
    const { token } = (await shareEndpoint(planless, id)).body;
    await environment.db
      .knex('users')
      .where({ id: Buffer.from('carl') })
      .update({ plan: 'former' });
    expect((await client(url, token).list(id)).status).toBe(403);
  });

  test('no socket takes its token', async () => {
    const { token } = (await shareEndpoint(owner, endpoint)).body;
    const { refusals, socket } = closing(startClient(url, token), (open) => void open.socket.disconnect());
    await eventually(() => refusals.length > 0);
    expect([refusals.map(({ message }) => message), socket.active]).toEqual([['unauthorized'], false]);
  });

  test('a user is told that /api/share is not for them', async () => {
    expect((await owner.call('GET', '/api/share')).status).toBe(403);
  });

  test('answers are for the holder only, and say so', async () => {
    const { id, token } = (await shareEndpoint(owner, endpoint)).body;
    const holder = client(url, token);
    const answers = [
      await holder.list(endpoint),
      await holder.body(entry),
      await holder.entry(UNKNOWN),
      await holder.endpoints(),
      await client(url, `hbs_${'a'.repeat(43)}`).list(endpoint),
    ];
    await owner.call('DELETE', `/api/shares/${id}`);
    answers.push(await holder.list(endpoint));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 403, 401, 410]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-robots-tag': 'noindex',
        'x-content-type-options': 'nosniff',
      });
    }
  });
});

describe('the end of a link [Share link: end]', () => {
  test('withdrawn: 410, at once on the process that was told and soon on the others', async () => {
    const { id, token } = (await shareEndpoint(owner, endpoint)).body;
    const [here, there] = [client(url, token), client(otherUrl, token)];
    expect([(await here.list(endpoint)).status, (await there.list(endpoint)).status]).toEqual([200, 200]);
    const start = performance.now();
    expect((await owner.call('DELETE', `/api/shares/${id}`)).status).toBe(200);
    expect((await here.list(endpoint)).bytes.toString()).toBe(GONE);
    await eventually(async () => (await there.list(endpoint)).status === 410);
    if (process.env['SHOW_PAUSES']) process.stdout.write(`withdrawn after ${performance.now() - start} ms\n`);
    expect(performance.now() - start).toBeLessThan(20_000);
    expect((await owner.call('DELETE', `/api/shares/${id}`)).status).toBe(404);
  });

  test('expired: 410, also for a copy that a process has', async () => {
    const { id, token } = (await shareEntry(owner, entry)).body;
    const key = { id: idToBytes(id) };
    const holder = client(url, token);
    await environment.db
      .knex('shares')
      .where(key)
      .update({ expires_at: new Date(Date.now() + 1_500) });
    let last = (await holder.entry(entry)).status;
    await eventually(async () => (last = (await holder.entry(entry)).status) === 410);
    expect(last).toBe(410);
    expect((await holder.entry(entry)).bytes.toString()).toBe(GONE);
    expect((await holder.call('DELETE', `/api/requests/${entry}`)).status).toBe(403);
    expect((await owner.call('DELETE', `/api/shares/${id}`)).status).toBe(404);
    expect((await listed(`/api/requests/${entry}/shares`)).body.shares).toEqual([]);
  });

  test('with its entry: its token is unknown', async () => {
    const holder = await holderOfEntry(url, owner, entry);
    const whole = await holderOfEndpoint(url, owner, endpoint);
    expect((await owner.remove(entry)).status).toBe(200);
    expect([(await whole.entry(entry)).status, await rows()]).toEqual([
      404,
      [expect.objectContaining({ request_id: null })],
    ]);
    await eventually(async () => (await holder.entry(entry)).status === 401);
  });

  test('with its endpoint: its token is unknown, and the purge takes its row', async () => {
    const holder = await holderOfEndpoint(url, owner, endpoint);
    expect((await holder.list(endpoint)).status).toBe(200);
    expect((await owner.removeEndpoint(endpoint)).status).toBe(200);
    expect((await holder.list(endpoint)).status).not.toBe(200);
    await eventually(async () => (await holder.list(endpoint)).status === 401);
    await eventually(async () => (await rows()).length === 0);
  });
});

test('without the page the address of links is a text that tells how to use them, without script or token [`/s`]', async () => {
  const without = await environment.startApi({ PAGE: 'false' });
  const { status, headers, bytes } = await send(`${without.url}/s`);
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
    'x-content-type-options': 'nosniff',
  });
  const holder = (await shareEndpoint(owner, endpoint)).body.token;
  const commands = bytes.toString().match(/\/api\/\S+/g) ?? [];
  expect(commands.length).toBe(4);
  for (const command of commands) {
    const path = command.replace('<endpoint_id>', endpoint).replace('<request_id>', entry);
    expect((await client(url, holder).call('GET', path)).status).toBe(200);
  }
  await without.stop();
});

test('with the page it is the page: the same HTML under the same policy, whatever its nonce [`/s`]', async () => {
  const nonce = /'nonce-([^']+)'/;
  const withoutNonce = ({ body, headers: { 'content-security-policy': policy, ...headers } }: Answer<string>) => {
    const [, own = ''] = nonce.exec(policy as string) ?? [];
    const { date: _date, 'x-request-id': _id, ...same } = headers;
    return { ...same, policy: (policy as string).replace(own, ''), body: body.replaceAll(own, '') };
  };
  const [page, shared] = [await send<string>(`${url}/`), await send<string>(`${url}/s`)];
  expect(shared.status).toBe(200);
  expect(withoutNonce(shared)).toEqual(withoutNonce(page));
  expect(withoutNonce(shared)).toMatchObject({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' });
  expect(nonce.exec(shared.headers['content-security-policy'] as string)?.[1]).toHaveLength(24);
});
