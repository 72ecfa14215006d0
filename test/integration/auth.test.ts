import { createHmac, generateKeyPairSync } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { describe, expect, test } from 'vitest';
import { captureOne, client, mintToken, send } from '../support/client.ts';
import { JWT_SECRET, useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
let url: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
});

const ROUTES = [
  ['GET', '/api/endpoints'],
  ['POST', '/api/endpoints'],
  ['GET', '/api/endpoints/x'],
  ['DELETE', '/api/endpoints/x'],
  ['GET', '/api/endpoints/x/requests?limit=wrong'],
  ['GET', '/api/requests/x'],
  ['GET', '/api/requests/x/body'],
  ['DELETE', '/api/requests/x'],
  ['DELETE', '/api/requests'],
  // The router ignores case and a trailing slash, and so does the guard.
  ['GET', '/API/Endpoints/'],
] as const;

const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const claims = { sub: 'ann', exp: Math.floor(Date.now() / 1000) + 600 };
const unsigned = (header: unknown): string => `${base64url(header)}.${base64url(claims)}.`;
const hmac = (header: unknown, payload: unknown, key: string): string => {
  const signed = `${base64url(header)}.${base64url(payload)}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
};
const rsaKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

const REFUSED: [string, string | undefined][] = [
  ['no header', undefined],
  ['an empty header', ''],
  ['another scheme', 'Basic YTpi'],
  ['no token', 'Bearer '],
  ['garbage', 'Bearer garbage'],
  ['two tokens', `Bearer ${mintToken('ann')} ${mintToken('ann')}`],
  ['alg none', `Bearer ${unsigned({ alg: 'none' })}`],
  ['alg nOnE', `Bearer ${unsigned({ alg: 'nOnE', typ: 'JWT' })}`],
  ['alg none with a signature', `Bearer ${hmac({ alg: 'none' }, claims, JWT_SECRET)}`],
  ['another secret', `Bearer ${hmac({ alg: 'HS256' }, claims, 'another-secret-another-secret-another')}`],
  ['HS384', `Bearer ${jwt.sign(claims, JWT_SECRET, { algorithm: 'HS384' })}`],
  ['HS512', `Bearer ${jwt.sign(claims, JWT_SECRET, { algorithm: 'HS512' })}`],
  ['RS256', `Bearer ${jwt.sign(claims, rsaKey, { algorithm: 'RS256' })}`],
  ['an embedded key', `Bearer ${hmac({ alg: 'HS256', jwk: { kty: 'oct', k: base64url('k') } }, claims, 'k')}`],
  ['a kid with a path', `Bearer ${hmac({ alg: 'HS256', kid: '../../dev/null' }, claims, '')}`],
  ['a string payload', `Bearer ${hmac({ alg: 'HS256' }, '"ann"', JWT_SECRET)}`],
  ['a changed payload', `Bearer ${mintToken('ann').replace(/\.[^.]+\./, `.${base64url({ ...claims, sub: 'bob' })}.`)}`],
  ['100 kB', `Bearer ${mintToken('ann', { junk: 'x'.repeat(60_000) })}`.slice(0, 40_000)],
];

test('every guarded route checks the token before anything else of the request [Missing, malformed, expired or forged token]', async () => {
  const bodies = new Set<string>();
  for (const [method, path] of ROUTES) {
    const answer = await send(`${url}${path}`, {
      method,
      headers: ['Content-Type', 'application/json'],
      body: '{broken',
    });
    expect([method, path, answer.status]).toEqual([method, path, 401]);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    bodies.add(answer.bytes.toString());
  }
  expect([...bodies]).toEqual(['{"error":"A valid bearer token is required"}']);
});

test.each(REFUSED)('401 with the same body for %s', async (_name, header) => {
  const answer = await send(`${url}/api/endpoints`, { headers: header === undefined ? [] : ['Authorization', header] });
  expect([answer.status, answer.bytes.toString()]).toEqual([401, '{"error":"A valid bearer token is required"}']);
  expect(answer.headers['www-authenticate']).toBe('Bearer');
});

describe('a token with a valid signature and a wrong claim: the answer names the fault', () => {
  const now = Math.floor(Date.now() / 1000);
  test.each([
    ['expired', { sub: 'ann', exp: now - 60 }, /expired/],
    ['not valid yet', { sub: 'ann', exp: now + 60, nbf: now + 30 }, /not valid yet/],
    ['no exp', { sub: 'ann' }, /exp/],
    ['no sub', { exp: now + 60 }, /sub/],
    ['an empty sub', { sub: '', exp: now + 60 }, /sub/],
    ['a number for sub', { sub: 7, exp: now + 60 }, /sub/],
    ['a sub of 256 characters', { sub: 'x'.repeat(256), exp: now + 60 }, /sub/],
    ['a sub that is no Unicode', { sub: '\ud800', exp: now + 60 }, /sub/],
  ])('%s', async (_name, payload, description) => {
    const answer = await send(`${url}/api/endpoints`, {
      headers: ['Authorization', `Bearer ${hmac({ alg: 'HS256' }, payload, JWT_SECRET)}`],
    });
    expect([answer.status, answer.bytes.toString()]).toEqual([401, '{"error":"A valid bearer token is required"}']);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer error="invalid_token", error_description="[^"]+"$/);
    expect(answer.headers['www-authenticate']).toMatch(description);
  });
});

test('five seconds of leeway, any case of the scheme, and a sub of 255 characters are accepted', async () => {
  const justExpired = hmac({ alg: 'HS256' }, { sub: 'ann', exp: Math.floor(Date.now() / 1000) - 2 }, JWT_SECRET);
  expect((await send(`${url}/api/endpoints`, { headers: ['Authorization', `Bearer ${justExpired}`] })).status).toBe(
    200,
  );
  expect(
    (await send(`${url}/api/endpoints`, { headers: ['authorization', `bearer ${mintToken('ann')}`] })).status,
  ).toBe(200);
  expect((await client(url, mintToken('😀'.repeat(127))).create()).status).toBe(201);
});

describe("a user's plan", () => {
  test("is that of the token, DEFAULT_PLAN without one, and 403 when it is unknown [A user's plan]", async () => {
    expect((await client(url, mintToken('kim', {})).endpoints()).body.usage.dailyRequestsMax).toBe(10_000);
    expect((await client(url, mintToken('kim', { plan: 'enterprise' })).endpoints()).body.usage.dailyRequestsMax).toBe(
      10_000_000,
    );
    for (const plan of ['platinum', '__proto__', 'constructor', 7, { name: 'pro' }]) {
      const { status, body } = await client(url, mintToken('kim', { plan })).endpoints();
      expect([status, body]).toEqual([
        403,
        { error: expect.stringContaining(typeof plan === 'string' ? plan : 'plan') },
      ]);
    }
  });

  test('is saved for captures, and a change takes effect on every pod at once', async () => {
    const other = await environment.startApi();
    const { id } = (await client(url, mintToken('lee', { plan: 'free' })).create()).body;
    const twoMiB = { method: 'POST', body: Buffer.alloc(2 * 1024 * 1024) };
    expect((await send(`${other.url}/h/${id}`, twoMiB)).status).toBe(413);
    await client(url, mintToken('lee', { plan: 'pro' })).endpoints();
    await captureOne(url, id, twoMiB);
    await captureOne(other.url, id, twoMiB);
    await client(other.url, mintToken('lee', { plan: 'free' })).endpoints();
    expect((await send(`${other.url}/h/${id}`, twoMiB)).status).toBe(413);
    await expect.poll(async () => (await send(`${url}/h/${id}`, twoMiB)).status, { timeout: 1_000 }).toBe(413);
  });
});
