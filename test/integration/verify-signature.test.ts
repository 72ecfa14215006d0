import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { VerificationResult } from '../../src/domain/signature/verify.ts';
import { captureOne, client, mintToken, send, type Answer, type Client } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
let url: string;
let owner: Client;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
  owner = client(url, mintToken('ann'));
  endpointId = (await owner.create()).body.id;
});

const post = (body: unknown, base = url): Promise<Answer<VerificationResult & { error?: string }>> =>
  send(`${base}/api/verify-signature`, {
    method: 'POST',
    headers: ['Content-Type', 'application/json'],
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const GITHUB = {
  provider: 'github',
  payload: 'Hello, World!',
  secret: "It's a Secret to Everybody",
  signature: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
};

describe('POST /api/verify-signature', () => {
  test('needs no token, returns the expected signature, and may not be cached', async () => {
    const answer = await post(GITHUB);
    expect([answer.status, answer.body]).toEqual([
      200,
      { valid: true, expected: GITHUB.signature, actual: GITHUB.signature },
    ]);
    expect(answer.headers['cache-control']).toBe('no-store');
    const failed = await post({ ...GITHUB, payload: 'Hello, World! ' });
    expect([failed.status, failed.body]).toEqual([
      200,
      {
        valid: false,
        expected: expect.stringMatching(/^sha256=/),
        actual: GITHUB.signature,
        details: expect.stringContaining('trimmed'),
      },
    ]);
  });

  test.each([
    ['an unknown provider', { ...GITHUB, provider: 'gitlab' }, /provider.*github, stripe, shopify, slack/],
    ['no provider', { ...GITHUB, provider: undefined }, /provider/],
    ['no payload', { ...GITHUB, payload: undefined }, /payload/],
    ['a payload that was parsed', { ...GITHUB, payload: { a: 1 } }, /payload/],
    ['no signature', { ...GITHUB, signature: null }, /signature/],
    ['a secret that is a number', { ...GITHUB, secret: 7 }, /secret/],
    ['a timestamp that is a number', { ...GITHUB, timestamp: 1_531_420_618 }, /timestamp/],
    ['bad JSON', '{"provider":', /JSON/],
    ['a list', '[]', /./],
    ['nothing', '', /provider/],
  ])('400 for %s [Verify: missing or wrong-type field, unknown provider, bad JSON]', async (_name, body, message) => {
    const answer = await post(body);
    expect([answer.status, answer.body]).toEqual([400, { error: expect.stringMatching(message) }]);
  });

  test('a payload of 1 MiB is checked, also where JSON takes six bytes for one; more is 413', async () => {
    for (const payload of ['x'.repeat(1_048_576), '\0'.repeat(1_048_576), 'é'.repeat(524_288)]) {
      const signature = `sha256=${createHmac('sha256', 's').update(payload).digest('hex')}`;
      expect((await post({ provider: 'github', payload, secret: 's', signature })).body.valid).toBe(true);
    }
    for (const payload of ['x'.repeat(1_048_577), 'é'.repeat(524_289), 'x'.repeat(9_000_000)]) {
      const answer = await post({ ...GITHUB, payload });
      expect([answer.status, answer.body]).toEqual([413, { error: expect.any(String) }]);
    }
  });

  test('VERIFY_RATE_LIMIT_PER_MINUTE per address over all pods, with headers; 0 disables it [Verify: limits]', async () => {
    const limits = { VERIFY_RATE_LIMIT_PER_MINUTE: '5', TRUST_PROXY_HOPS: '1' };
    const pods = [await environment.startApi(limits), await environment.startApi(limits)];
    const from = (address: string, pod: number): Promise<Answer> =>
      send(`${pods[pod]?.url}/api/verify-signature`, {
        method: 'POST',
        headers: ['Content-Type', 'application/json', 'X-Forwarded-For', address],
        body: JSON.stringify(GITHUB),
      });
    for (let n = 1; n <= 5; n += 1) {
      const answer = await from('203.0.113.1', n % 2);
      expect([n, answer.status, answer.headers['ratelimit-policy']]).toEqual([n, 200, '"verify";q=5;w=60']);
      expect(answer.headers['ratelimit']).toMatch(new RegExp(`^"verify";r=${5 - n};t=\\d+$`));
    }
    const refused = await from('203.0.113.1', 0);
    expect([refused.status, refused.body]).toEqual([429, { error: expect.any(String) }]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await from('203.0.113.2', 0)).status).toBe(200);
    // All addresses of a /64 count as one sender.
    for (let n = 1; n <= 5; n += 1) expect((await from(`2001:db8:0:1::${n}`, n % 2)).status).toBe(200);
    expect((await from('2001:db8:0:1:ffff::', 0)).status).toBe(429);
    expect((await from('2001:db8:0:2::1', 0)).status).toBe(200);
    const unlimited = await environment.startApi({ VERIFY_RATE_LIMIT_PER_MINUTE: '0' });
    const free = await post(GITHUB, unlimited.url);
    expect([free.status, free.headers['ratelimit']]).toEqual([200, undefined]);
  });
});

describe('POST /api/requests/:id/verify', () => {
  const secret = 'shhh';
  const mac = (prefix: string, body: Buffer, encoding: 'hex' | 'base64'): string =>
    createHmac('sha256', secret).update(prefix).update(body).digest(encoding);
  const body = Buffer.from([0x7b, 0xff, 0x00, 0x7d]);
  const verify = (id: string, input: unknown): Promise<Answer> =>
    owner.call('POST', `/api/requests/${id}/verify`, input);

  test.each([
    ['github', ['X-Hub-Signature-256', `sha256=${mac('', body, 'hex')}`]],
    ['stripe', ['Stripe-Signature', `t=1700000000,v1=${mac('1700000000.', body, 'hex')}`]],
    ['shopify', ['X-Shopify-Hmac-Sha256', mac('', body, 'base64')]],
    [
      'slack',
      ['X-Slack-Signature', `v0=${mac('v0:1700000000:', body, 'hex')}`, 'X-Slack-Request-Timestamp', '1700000000'],
    ],
  ])('%s is found by its header, and the exact bytes are checked', async (provider, headers) => {
    const { id } = await captureOne(url, endpointId, { headers, body });
    expect(await verify(id, { secret })).toMatchObject({
      status: 200,
      body: { valid: true, provider, actual: headers[1] },
    });
    expect(await verify(id, { secret, provider })).toMatchObject({ status: 200, body: { valid: true } });
    expect(await verify(id, { secret: 'other' })).toMatchObject({
      status: 200,
      body: { valid: false, details: expect.any(String) },
    });
    const wrong = provider === 'github' ? 'shopify' : 'github';
    expect(await verify(id, { secret, provider: wrong })).toMatchObject({
      body: { valid: false, details: expect.stringMatching(/^The entry has no header x-/) },
    });
  });

  test('an entry without a signature, a wrong body, a foreign entry', async () => {
    const { id } = await captureOne(url, endpointId);
    expect(await verify(id, { secret })).toMatchObject({
      status: 200,
      body: { valid: false, expected: '', actual: '', details: expect.stringContaining('stripe-signature') },
    });
    expect((await verify(id, {})).status).toBe(400);
    expect((await verify(id, { secret, provider: 'gitlab' })).body).toEqual({
      error: expect.stringContaining('github, stripe, shopify, slack'),
    });
    expect((await client(url, mintToken('bob')).call('POST', `/api/requests/${id}/verify`, { secret })).status).toBe(
      404,
    );
    expect((await send(`${url}/api/requests/${id}/verify`, { method: 'POST' })).status).toBe(401);
  });
});

test('API_RATE_LIMIT_PER_MINUTE per user over all pods, with headers [Management rate limit]', async () => {
  const pods = [
    await environment.startApi({ API_RATE_LIMIT_PER_MINUTE: '4' }),
    await environment.startApi({ API_RATE_LIMIT_PER_MINUTE: '4' }),
  ];
  const list = (user: string, pod: number): Promise<Answer> =>
    client(pods[pod]?.url ?? '', mintToken(user)).endpoints();
  for (let n = 1; n <= 4; n += 1)
    expect((await list('carol', n % 2)).headers['ratelimit']).toMatch(new RegExp(`^"api";r=${4 - n};t=\\d+$`));
  const refused = await list('carol', 1);
  expect([refused.status, refused.body, Number(refused.headers['retry-after']) > 0]).toEqual([
    429,
    { error: expect.any(String) },
    true,
  ]);
  expect((await list('dave', 1)).status).toBe(200);
});
