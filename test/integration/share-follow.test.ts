import { beforeEach, describe, expect, test } from 'vitest';
import { openKeys } from '../../src/api/auth/keys.ts';
import { createShareLookUps } from '../../src/api/auth/share-look-ups.ts';
import { watchToken } from '../../src/api/auth/token-watch.ts';
import { createLog } from '../../src/log.ts';
import { scanBack, scanForward } from '../../src/store/find.ts';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { openEvents } from '../support/event-source.ts';
import { shareEndpoint, shareEntry } from '../support/shares.ts';

let environment: Environment;
let url: string;
let owner: Client;
let endpoint: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
  owner = client(url, mintToken('ann'));
});
beforeEach(async () => {
  endpoint = (await owner.create()).body.id;
});

const next = (token: string, query: string) =>
  send(`${url}/api/endpoints/${endpoint}/requests/next?${query}`, { headers: ['Authorization', `Bearer ${token}`] });

describe('waits and streams by a share link', () => {
  test('give what is covered, with secrets hidden', async () => {
    const { token } = (await shareEndpoint(owner, endpoint)).body;
    const stream = closing(await openEvents(`${url}/api/endpoints/${endpoint}/events?raw=true`, token), (open) =>
      open.close(),
    );
    const waiting = next(token, 'timeout=50&raw=true');
    const { id } = await captureOne(url, `${endpoint}?token=CANARY`, {
      headers: ['X-Api-Key', 'CANARY'],
      body: 'hello',
    });
    const waited = await waiting;
    await eventually(() => stream.entries().length === 1);
    expect([waited.status, waited.headers['x-next-after']]).toEqual([200, '1']);
    for (const entry of [waited.body, stream.entries()[0]]) {
      expect(entry).toMatchObject({ id, ip: '', body: 'hello', target: `/h/${endpoint}?token=***` });
      expect(JSON.stringify(entry)).not.toContain('CANARY');
    }
  });

  test('are refused like lists: for other endpoints, for links to an entry, and with a search', async () => {
    const other = (await owner.create()).body.id;
    const { id } = await captureOne(url, endpoint);
    const whole = client(url, (await shareEndpoint(owner, endpoint)).body.token);
    const one = client(url, (await shareEntry(owner, id)).body.token);
    for (const route of ['requests/next?timeout=0', 'events?after=0']) {
      expect((await whole.call('GET', `/api/endpoints/${other}/${route}`)).status).toBe(404);
      expect((await one.call('GET', `/api/endpoints/${endpoint}/${route}`)).status).toBe(403);
      expect((await whole.call('GET', `/api/endpoints/${endpoint}/${route}&q=abc`)).status).toBe(403);
    }
  });

  test('with until: now do not reach, count or find what came later', async () => {
    await captureOne(url, endpoint, { body: 'early' });
    const { token } = (await shareEndpoint(owner, endpoint, { until: 'now', redact: false })).body;
    await captureOne(url, endpoint, { body: 'later' });
    await environment.drained();
    expect((await next(token, 'timeout=0')).body).toMatchObject({ body: 'early' });
    expect((await next(token, 'timeout=0&after=1')).status).toBe(204);
    expect((await next(token, 'timeout=0&q=later')).status).toBe(204);

    const holder = client(url, token);
    expect((await holder.list(endpoint, '?q=later&limit=1')).body).toMatchObject({ requests: [], next: null });
    expect((await holder.list(endpoint, '?method=POST')).body).toMatchObject({
      requests: [{ body: 'early' }],
      total: 1,
    });
    const { share } = await sharedPrincipal(token);
    const reader = { userId: 'ann', since: null, share };
    const filter = { text: 'later', headers: [], json: [] };
    const back = await scanBack(environment.db, reader, endpoint, filter, { limit: 1 });
    expect([back.entries, back.done]).toEqual([[], true]);
    const forward = await scanForward(environment.db, reader, endpoint, filter, { after: 0, limit: 1, maxBody: 0 });
    expect([forward.requests, forward.done]).toEqual([[], true]);
  });

  test('that hides secrets does not find them in the store either, whatever a route lets through', async () => {
    await captureOne(url, `${endpoint}?token=CANARY`, { headers: ['X-Api-Key', 'CANARY'], body: 'hello' });
    await environment.drained();
    const find = async (redact: boolean, text: string): Promise<number> => {
      const { share } = await sharedPrincipal((await shareEndpoint(owner, endpoint, { redact })).body.token);
      const filter = { text, headers: [], json: [] };
      const reader = { userId: 'ann', since: null, share };
      return (await scanBack(environment.db, reader, endpoint, filter, { limit: 9 })).entries.length;
    };
    expect([await find(false, 'CANARY'), await find(true, 'CANARY'), await find(true, 'hello')]).toEqual([1, 0, 1]);
  });

  test('take no places from the owner', async () => {
    const { token } = (await shareEndpoint(owner, endpoint)).body;
    const waits = Array.from({ length: 25 }, () => next(token, 'timeout=50'));
    const refused = await Promise.any(waits);
    expect(refused.status).toBe(429);
    const own = owner.call('GET', `/api/endpoints/${endpoint}/requests/next?timeout=50`);
    await captureOne(url, endpoint);
    expect((await own).status).toBe(200);
    const statuses = (await Promise.all(waits)).map(({ status }) => status);
    expect([
      statuses.filter((status) => status === 200).length,
      statuses.filter((status) => status === 429).length,
    ]).toEqual([20, 5]);
  });

  test.each(['withdrawn', 'deleted'] as const)('end when the link is %s', async (how) => {
    const { id, token } = (await shareEndpoint(owner, endpoint)).body;
    const auth = await authOptions();
    let ended = false;
    const watched = { token, expiresAt: Date.now() + 3_600_000, auth, recheckMs: 20 };
    closing(
      watchToken(watched, () => (ended = true)),
      (stop) => stop(),
    );
    const other = (await shareEndpoint(owner, endpoint)).body.token;
    let otherEnded = false;
    closing(
      watchToken({ ...watched, token: other }, () => (otherEnded = true)),
      (stop) => stop(),
    );
    if (how === 'withdrawn') await owner.call('DELETE', `/api/shares/${id}`);
    else await owner.removeEndpoint(endpoint);
    await eventually(() => ended);
    if (how === 'deleted') await eventually(() => otherEnded);
    expect(otherEnded).toBe(how === 'deleted');
  });
});

async function authOptions() {
  const { jwt, plans, defaultPlan } = environment.config;
  const keys = openKeys(jwt, createLog('silent'));
  const shares = createShareLookUps({ db: environment.db, poolSize: 10 });
  return { jwt, plans, defaultPlan, keySource: keys.find, rememberPlan: async () => {}, shares };
}

async function sharedPrincipal(token: string) {
  const known = await createShareLookUps({ db: environment.db, poolSize: 10 }).find(token);
  if (known === undefined) throw new Error('unknown');
  return known;
}
