import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import jwt from 'jsonwebtoken';
import { describe, expect, test } from 'vitest';
import { createJwksSource } from '../../src/api/auth/jwks-source.ts';
import { openKeys } from '../../src/api/auth/keys.ts';
import { createLog } from '../../src/log.ts';
import { send, type Answer } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';

const log = createLog('silent');
const ONE_BODY = '{"error":"A valid bearer token is required"}';

interface Pair {
  kid: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

const rsa = (kid: string): Pair => ({ kid, ...generateKeyPairSync('rsa', { modulusLength: 2048 }) });
const ec = (kid: string, namedCurve = 'P-256'): Pair => ({ kid, ...generateKeyPairSync('ec', { namedCurve }) });
const jwkOf = ({ kid, publicKey }: Pair, extra: object = {}): object => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  use: 'sig',
  ...extra,
});

/** An endless answer, until the connection is closed. */
function endless(res: ServerResponse, bytes: number): void {
  const timer = setInterval(() => res.write(' '.repeat(bytes)), 20);
  res.on('close', () => clearInterval(timer));
}

/** A key server whose keys and faults a test sets. */
async function startKeyServer() {
  type Mode = 'answer' | 'stall' | 'dribble' | 'flood' | 'error' | 'garbage';
  const state = { keys: [] as unknown[], mode: 'answer' as Mode, requests: 0, open: 0 };
  const server: Server = createServer((_req, res) => {
    state.requests += 1;
    state.open += 1;
    res.on('close', () => (state.open -= 1));
    if (state.mode === 'stall') return void res.writeHead(200).write('{');
    if (state.mode === 'dribble' || state.mode === 'flood') return endless(res, state.mode === 'flood' ? 64 * 1024 : 1);
    if (state.mode === 'error') return void res.writeHead(500).end();
    res.end(state.mode === 'garbage' ? '<html>' : JSON.stringify({ keys: state.keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { state, url: `http://127.0.0.1:${port}/jwks.json`, close };
}

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

const NO_KEY = { JWT_SECRET: '', JWT_PUBLIC_KEY: '', JWKS_URL: '' };
const sign = (pair: Pair, algorithm: jwt.Algorithm, claims: object = {}, header: object = {}): string =>
  jwt.sign({ sub: 'ann', plan: 'pro', ...claims }, pair.privateKey, {
    algorithm,
    expiresIn: 600,
    keyid: pair.kid,
    header: { alg: algorithm, ...header },
  });
const list = (url: string, token: string): Promise<Answer> =>
  send(`${url}/api/endpoints`, { headers: ['Authorization', `Bearer ${token}`] });

describe('JWT_PUBLIC_KEY', () => {
  test.each([
    ['RSA', rsa('k'), ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
    ['P-256', ec('k'), ['ES256']],
    ['P-384', ec('k', 'P-384'), ['ES384']],
    ['P-521', ec('k', 'P-521'), ['ES512']],
  ] as [string, Pair, jwt.Algorithm[]][])('%s: its own algorithms and no others', async (_name, pair, algorithms) => {
    const pem = pair.publicKey.export({ type: 'spki', format: 'pem' });
    // As it is often written in an environment variable: with escaped line breaks.
    const { url } = await environment.startApi({ ...NO_KEY, JWT_PUBLIC_KEY: pem.replaceAll('\n', '\\n') });
    for (const algorithm of algorithms)
      expect([algorithm, (await list(url, sign(pair, algorithm))).status]).toEqual([algorithm, 200]);
    const header = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT' })).toString('base64url');
    const payload = Buffer.from(JSON.stringify({ sub: 'ann', exp: Date.now() })).toString('base64url');
    // The classic confusion: HMAC keyed with the public key's text.
    for (const key of [pem, pem.trim(), pair.publicKey.export({ type: 'spki', format: 'der' })]) {
      const forged = `${header}.${payload}.${createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url')}`;
      const answer = await list(url, forged);
      expect([answer.status, answer.bytes.toString()]).toEqual([401, ONE_BODY]);
    }
    const other = await list(url, sign(rsa('k'), 'RS256'));
    expect([other.status, other.bytes.toString()]).toEqual([401, ONE_BODY]);
  });

  test('JWT_ISSUER, JWT_AUDIENCE and JWT_PLAN_CLAIM [Token]', async () => {
    const pair = ec('k');
    const pem = pair.publicKey.export({ type: 'spki', format: 'pem' });
    const { url } = await environment.startApi({
      ...NO_KEY,
      JWT_PUBLIC_KEY: pem,
      JWT_ISSUER: 'https://id.example',
      JWT_AUDIENCE: 'hookbay',
      JWT_PLAN_CLAIM: 'https://hookbay/plan',
    });
    const good = {
      iss: 'https://id.example',
      aud: ['other', 'hookbay'],
      'https://hookbay/plan': 'enterprise',
      plan: 'ignored',
    };
    expect((await list(url, sign(pair, 'ES256', good))).body).toMatchObject({
      usage: { dailyRequestsMax: 10_000_000 },
    });
    for (const [claims, description] of [
      [{ ...good, iss: 'https://evil.example' }, /iss/],
      [{ ...good, aud: 'other' }, /aud/],
    ] as const) {
      const answer = await list(url, sign(pair, 'ES256', claims));
      expect([answer.status, answer.bytes.toString()]).toEqual([401, ONE_BODY]);
      expect(answer.headers['www-authenticate']).toMatch(description);
    }
  });
});

describe('JWKS_URL', () => {
  test('uses the key that kid names, RSA and EC, and refuses every forgery with the same 401', async () => {
    const server = closing(await startKeyServer(), (open) => open.close());
    const [one, two] = [rsa('one'), ec('two')];
    server.state.keys = [
      jwkOf(one, { alg: 'RS256' }),
      jwkOf(two),
      { kty: 'oct', k: 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0', kid: 'oct' },
    ];
    const { url } = await environment.startApi({ ...NO_KEY, JWKS_URL: server.url });
    expect((await list(url, sign(one, 'RS256'))).status).toBe(200);
    expect((await list(url, sign(two, 'ES256'))).status).toBe(200);
    const stranger = rsa('one');
    const hs256 = (kid: string, key: string): string =>
      jwt.sign({ sub: 'ann' }, key, { algorithm: 'HS256', expiresIn: 60, keyid: kid });
    const tricks: [string, string][] = [
      ['another alg than the key names', sign(one, 'RS512')],
      ["another key's kid", sign({ ...one, kid: 'two' }, 'RS256')],
      ['a stranger with a known kid', sign(stranger, 'RS256')],
      ['an unknown kid', sign({ ...one, kid: 'three' }, 'RS256')],
      [
        'no kid where there are several keys',
        jwt.sign({ sub: 'ann' }, one.privateKey, { algorithm: 'RS256', expiresIn: 60 }),
      ],
      ['__proto__ for a kid', sign({ ...one, kid: '__proto__' }, 'RS256')],
      ['a path for a kid', sign({ ...one, kid: '../../../dev/null' }, 'RS256')],
      ['an embedded key', sign(stranger, 'RS256', {}, { jwk: jwkOf(stranger) })],
      ['a key address', sign(stranger, 'RS256', {}, { jku: server.url, x5u: server.url })],
      ['the symmetric key of the set', hs256('oct', 'secret-secret-secret-secret')],
      ['HMAC with the public key', hs256('one', one.publicKey.export({ type: 'spki', format: 'pem' }))],
      [
        'none',
        `${Buffer.from('{"alg":"none","kid":"one"}').toString('base64url')}.${Buffer.from('{"sub":"ann","exp":9999999999}').toString('base64url')}.`,
      ],
      ['100 kB', sign(one, 'RS256', { junk: 'x'.repeat(20_000) })],
      ['no token at all', 'x.y.z'],
    ];
    for (const [name, token] of tricks) {
      const answer = await list(url, token);
      expect([name, answer.status, answer.bytes.toString()]).toEqual([name, 401, ONE_BODY]);
    }
  });

  test('503 when no keys are known, and tokens are valid again when the server is reachable', async () => {
    const server = closing(await startKeyServer(), (open) => open.close());
    const pair = ec('k');
    const clock = { now: 1_000_000 };
    const { find: source } = createJwksSource(server.url, log, () => clock.now);
    for (const mode of ['error', 'garbage', 'stall'] as const) {
      server.state.mode = mode;
      clock.now += 10_001;
      await expect(source('k')).rejects.toMatchObject({ status: 503 });
    }
    server.state.mode = 'answer';
    server.state.keys = [jwkOf(pair)];
    // Not at once: the next request comes after ten seconds.
    const requests = server.state.requests;
    await expect(source('k')).rejects.toMatchObject({ status: 503 });
    expect(server.state.requests).toBe(requests);
    clock.now += 10_001;
    expect((await source('k'))?.algorithms).toEqual(['ES256']);
    // The only key is also that of tokens without a kid.
    expect((await source(undefined))?.algorithms).toEqual(['ES256']);
  });

  test('through the API: 503 with Retry-After', async () => {
    const server = await startKeyServer();
    server.close();
    const { url } = await environment.startApi({ ...NO_KEY, JWKS_URL: server.url });
    const answer = await list(url, sign(ec('k'), 'ES256'));
    expect([answer.status, answer.headers['retry-after'], answer.body]).toEqual([
      503,
      '2',
      { error: expect.stringContaining('key server') },
    ]);
  });

  test('rotation: a new kid is fetched at once, a flood of unknown ones is not, a withdrawn key is refused after half a minute', async () => {
    const server = closing(await startKeyServer(), (open) => open.close());
    const [old, young] = [ec('old'), ec('young')];
    const clock = { now: 1_000_000 };
    const { find: source } = createJwksSource(server.url, log, () => clock.now);
    server.state.keys = [jwkOf(old)];
    expect(await source('old')).toBeDefined();
    expect(server.state.requests).toBe(1);
    server.state.keys = [jwkOf(old), jwkOf(young)];
    clock.now += 10_001;
    expect(await source('young')).toBeDefined();
    expect(server.state.requests).toBe(2);
    expect(await Promise.all(Array.from({ length: 100 }, (_, i) => source(`unknown-${i}`)))).toEqual(
      Array(100).fill(undefined),
    );
    expect(server.state.requests).toBe(2);
    server.state.keys = [jwkOf(young)];
    clock.now += 29_000;
    expect(await source('old')).toBeDefined();
    clock.now += 2_000;
    expect(await source('old')).toBeUndefined();
    expect(await source('young')).toBeDefined();
  });

  test('keys stay valid for any time while the server is unreachable, and concurrent tokens share one request', async () => {
    const server = closing(await startKeyServer(), (open) => open.close());
    const clock = { now: 1_000_000 };
    const { find: source } = createJwksSource(server.url, log, () => clock.now);
    server.state.keys = [jwkOf(ec('k'))];
    await Promise.all(Array.from({ length: 50 }, () => source('k')));
    expect(server.state.requests).toBe(1);
    server.state.mode = 'error';
    for (let hour = 0; hour < 5; hour += 1) {
      clock.now += 3_600_000;
      expect(await source('k')).toBeDefined();
      // The server is queried in the background.
      await eventually(() => server.state.requests === hour + 2 && server.state.open === 0);
    }
    expect(server.state.requests).toBe(6);
  });

  test('a key server that hangs delays no token of a known key, and other tokens for one request', async () => {
    const server = closing(await startKeyServer(), (open) => open.close());
    const clock = { now: 1_000_000 };
    const { find, refresh } = createJwksSource(server.url, log, () => clock.now);
    const first = (...works: Promise<unknown>[]): Promise<number> =>
      Promise.race(works.map((work, i) => work.then(() => i)));
    server.state.keys = [jwkOf(ec('k')), jwkOf(ec('l'))];
    await refresh();
    server.state.mode = 'stall';
    clock.now += 20_000;
    const refreshed = refresh();
    expect(await first(refreshed, find('k'))).toBe(1);
    expect(await first(find('unknown'), refreshed)).toBe(1);
    await refreshed;
    for (let minute = 0; minute < 2; minute += 1) {
      clock.now += 60_000;
      const next = refresh();
      expect(await first(next, find('k'))).toBe(1);
      expect(await first(next, find('l'))).toBe(1);
      await next;
      expect(await find('k')).toBeDefined();
    }
    server.state.mode = 'answer';
    server.state.keys = [jwkOf(ec('l'))];
    clock.now += 20_000;
    await refresh();
    expect([await find('k'), await find('l')]).toEqual([undefined, expect.anything()]);
  });

  test('keys are fetched again without any token, and a set without keys withdraws them all', async () => {
    const server = closing(await startKeyServer(), (open) => open.close());
    server.state.keys = [jwkOf(ec('k'))];
    const config = { ...environment.config.jwt, secret: '', jwksUrl: server.url };
    const keys = closing(openKeys(config, log, 20), (open) => open.close());
    expect(await keys.find('k')).toBeDefined();
    await eventually(() => server.state.requests > 3);
    server.state.keys = [];
    await eventually(async () => (await keys.find('k')) === undefined);
    keys.close();
    await eventually(() => server.state.open === 0);
    const requests = server.state.requests;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.state.requests).toBe(requests);
  });

  const ENDLESS = ['dribble', 'flood'] as const;
  test.each(ENDLESS)('an endless answer (%s) is aborted, and its connection is closed', async (mode) => {
    const server = closing(await startKeyServer(), (open) => open.close());
    server.state.mode = mode;
    await expect(createJwksSource(server.url, log, Date.now).find('k')).rejects.toMatchObject({ status: 503 });
    await eventually(() => server.state.open === 0);
  });

  test('an unusable entry does not affect the others, and is logged once', async () => {
    const server = closing(await startKeyServer(), (open) => open.close());
    const good = ec('good');
    const { n: _n, ...withoutModulus } = jwkOf(rsa('no-modulus')) as { n: string };
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const junk: [string, unknown][] = [
      ['entry 0', null],
      ['entry 1', 'text'],
      ['entry 2', []],
      ['entry 3', {}],
      ['unknown-kty', { kty: 'LWE', kid: 'unknown-kty' }],
      ['okp', { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', kid: 'okp' }],
      ['no-modulus', withoutModulus],
      ['bad-point', { ...jwkOf(ec('bad-point')), x: 'AAAA' }],
      ['a-number', { ...jwkOf(ec('a-number')), x: 7 }],
      ['unknown-curve', { ...jwkOf(ec('unknown-curve')), crv: 'P-999' }],
      ['encryption', { ...jwkOf(rsa('encryption')), use: 'enc' }],
      ['encrypting', { ...jwkOf(rsa('encrypting')), use: undefined, key_ops: ['encrypt'] }],
      ['another-alg', jwkOf(rsa('another-alg'), { alg: 'RSA-OAEP-256' })],
      ['short', { ...short.publicKey.export({ format: 'jwk' }), kid: 'short' }],
      ['private', { ...rsa('private').privateKey.export({ format: 'jwk' }), kid: 'private' }],
    ];
    const lines: { skipped?: string[] }[] = [];
    const logged = { ...log, warn: (line: object) => void lines.push(line) } as unknown as typeof log;
    const { find, refresh } = createJwksSource(server.url, logged, Date.now);
    // A broken certificate beside a complete key is ignored.
    server.state.keys = [...junk.map(([, entry]) => entry), jwkOf(good, { x5c: ['!'], x5t: 7 })];
    for (let times = 0; times < 3; times += 1) await refresh();
    expect((await find('good'))?.algorithms).toEqual(['ES256']);
    for (const [kid] of junk) expect([kid, await find(kid)]).toEqual([kid, undefined]);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.skipped?.map((text) => text.split(':')[0])).toEqual(junk.map(([name]) => name));
    server.state.keys = [{ kty: 'LWE' }, jwkOf(good)];
    await refresh();
    expect(lines).toHaveLength(2);
    // It is the only usable key.
    expect(await find(undefined)).toBe(await find('good'));
  });
});
