import { beforeEach, expect, test } from 'vitest';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, type Answer, type Client } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';
import { holderOfEndpoint, holderOfEntry } from '../support/shares.ts';

/* Each value that must be hidden contains this word. */
const WORD = 'CANARY7731';

let environment: Environment;
let url: string;
let owner: Client;
let endpoint: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi({ TRUST_PROXY_HOPS: '1' }));
  owner = client(url, mintToken('ann'));
});
beforeEach(async () => {
  endpoint = (await owner.create()).body.id;
});

const HEADERS = [
  ['aUTHORIZATION', `Bearer ${WORD}`, 'Cookie', `a=${WORD}`, 'Cookie', `b=${WORD}`, 'X_Hub_Signature-256', WORD],
  ['X-API-KEY', WORD, 'x-apikey', WORD, 'X-Some-Token', `\xe9${WORD}`, 'client_SECRET', WORD],
  ['X-Forwarded-For', '198.51.100.7', 'X-Real-Ip', '198.51.100.7', 'Forwarded', 'for=198.51.100.7'],
  ['Referer', `https://a.example/?x=1&%54oken=${WORD}`, 'X-GitHub-Event', 'push'],
].flat();
const QUERY = `page=2&ToKeN=${WORD}&user%5bPassword%5D=${WORD}&%ff%73ig=${WORD}&a=1;secret=${WORD}`;

test('a link hides secrets and the address in list, detail and exports; bodies stay as they are [Share link: `redact`]', async () => {
  const { id } = await captureOne(url, `${endpoint}/orders?${QUERY}`, { headers: HEADERS, body: '{"token":"body"}' });
  const holders = [await holderOfEndpoint(url, owner, endpoint), await holderOfEntry(url, owner, id)];
  await environment.drained();
  const answers: (Answer | undefined)[] = [
    await holders[0]?.list(endpoint),
    await holders[0]?.entry(id),
    await holders[1]?.entry(id),
  ];
  for (const raw of ['', '?raw=true']) {
    answers.push(await holders[0]?.list(endpoint, raw), await holders[1]?.call('GET', `/api/requests/${id}${raw}`));
  }
  for (const format of ['ndjson', 'har', 'csv'])
    answers.push(await holders[0]?.call('GET', `/api/endpoints/${endpoint}/export?format=${format}`));
  for (const format of ['curl', 'har', 'http'])
    answers.push(await holders[1]?.call('GET', `/api/requests/${id}/export?format=${format}`));
  for (const answer of answers) {
    expect(answer?.status).toBe(200);
    expect(answer?.bytes.toString()).not.toContain(WORD);
    expect(answer?.bytes.toString()).not.toContain('198.51.100.7');
  }
  expect((await holders[1]?.call('GET', `/api/endpoints/${endpoint}/export?format=ndjson`))?.status).toBe(403);
  expect((await holders[1]?.entry(id))?.body).toMatchObject({
    ip: '',
    path: `/h/${endpoint}/orders`,
    query: { page: '2', ToKeN: '***', 'user[Password]': '***', '%ff%73ig': '***', a: '1;secret=***' },
    headers: {
      authorization: '***',
      cookie: '***; ***',
      referer: 'https://a.example/?x=1&%54oken=***',
      'x-github-event': 'push',
    },
    body: '{"token":"body"}',
  });
  expect((await holders[1]?.body(id))?.bytes.toString()).toBe('{"token":"body"}');
  expect((await owner.entry(id)).body).toMatchObject({ ip: '198.51.100.7', headers: { 'x-api-key': WORD } });
});

test('with redact: false a link shows an entry as its owner sees it', async () => {
  const { id } = await captureOne(url, `${endpoint}?${QUERY}`, { headers: HEADERS });
  const holder = await holderOfEntry(url, owner, id, { redact: false });
  expect((await holder.entry(id)).body).toEqual((await owner.entry(id)).body);
});

test('a link that hides secrets takes no search that could guess them [Share link: search]', async () => {
  await captureOne(url, endpoint);
  await environment.drained();
  const holder = await holderOfEndpoint(url, owner, endpoint);
  const refused = [
    ['q=abc', 'header=authorization', 'header=authorization:Bearer%20a', 'path=/x;token=a', 'path=/x%3Btoken%3Da'],
    ['path=/a&path=/b=', 'q=abc&q=def', 'Q=abc', 'q[]=abc', 'body=a', 'sort=ip', '__proto__=1', 'constructor=1'],
  ].flat();
  for (const query of refused) {
    const answer = await holder.list(endpoint, `?${query}`);
    expect([query, answer.status, answer.body]).toEqual([
      query,
      403,
      { error: 'A share link that hides secrets takes no search in headers and query, and no unknown parameter' },
    ]);
  }
  for (const query of ['limit=1', 'offset=0', 'raw=true', 'method=POST', 'path=/x', 'json=$.a=1', 'since=2026-01-01']) {
    expect([query, (await holder.list(endpoint, `?${query}`)).status]).toEqual([query, 200]);
  }
  const open = await holderOfEndpoint(url, owner, endpoint, { redact: false });
  expect((await open.list(endpoint, '?q=abcdef&header=host')).status).toBe(200);
});

test('a page of entries with many headers and parameters is hidden in turns', async () => {
  const rawHeaders = Array.from({ length: 4_000 }, (_, i) => [`x-${i}`, `a=${i}&token=${WORD}`]).flat();
  const target = `/h/x?${Array.from({ length: 4_000 }, (_, i) => `t%6fken=${WORD}${i}`).join('&')}`;
  const captures = Array.from({ length: 50 }, () => makeCapture(endpoint, { rawHeaders, target }));
  for (const capture of captures)
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-01-01', captures: [capture] }]);
  const holder = await holderOfEndpoint(url, owner, endpoint);
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  const answer = await holder.list(endpoint, '?limit=50');
  clearInterval(timer);
  expect(answer.body.requests).toHaveLength(50);
  expect(answer.bytes.includes(WORD)).toBe(false);
  if (process.env['SHOW_PAUSES']) process.stdout.write(`redaction: ${Math.round(longest)} ms\n`);
  // The client of this test, which parses the page, is in the same process.
  expect(longest).toBeLessThan(1_000);
});
