import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/management/operations.ts';
import { newShareToken } from '../../src/domain/share.ts';
import { send } from '../support/client.ts';
import { closing, eventually, JWT_SECRET, useEnvironment, type Environment } from '../support/environment.ts';
import { startClient } from '../support/live/clients.ts';

/* Any invalid token is refused as one: never with a 5xx, which would be logged and which a socket would retry. */

let environment: Environment;
let url: string;
useEnvironment(async (opened) => {
  environment = opened;
  ({ url } = await environment.startApi());
});

const base64url = (value: string | Buffer): string => Buffer.from(value as string).toString('base64url');
const signed = (header: string | Buffer, payload: string | Buffer): string => {
  const input = `${base64url(header)}.${base64url(payload)}`;
  return `${input}.${createHmac('sha256', JWT_SECRET).update(input).digest('base64url')}`;
};
const HEADER = '{"alg":"HS256","typ":"JWT"}';
const CLAIMS = `{"sub":"ann","plan":"pro","exp":${Math.floor(Date.now() / 1000) + 600}}`;
const BOM = '\ufeff';

const PAYLOADS: [string, string | Buffer][] = [
  ['a letter', 'x'],
  ['half an object', CLAIMS.slice(0, -1)],
  ['two objects', CLAIMS + CLAIMS],
  ['a byte order mark', BOM + CLAIMS],
  ['no UTF-8', Buffer.from([0xff, 0xfe, 0x7b, 0x7d])],
  ['no UTF-8 in a text', Buffer.concat([Buffer.from('{"sub":"'), Buffer.from([0xc3]), Buffer.from('}')])],
  ['a NUL', '\0'],
  ['null', 'null'],
  ['a number', '5'],
  ['a text', '"ann"'],
  ['true', 'true'],
  ['a list', '[]'],
  ['a list of claims', `[${CLAIMS}]`],
  ['nothing in it', '{}'],
  ['an exp that is a text', '{"sub":"ann","exp":"9999999999"}'],
  ['an exp that is null', '{"sub":"ann","exp":null}'],
  ['an nbf that is a list', CLAIMS.replace('{', '{"nbf":[],')],
  ['a sub that is an object', CLAIMS.replace('"ann"', '{"toString":1}')],
  ['4,000 lists in each other', `${'['.repeat(4_000)}${']'.repeat(4_000)}`],
];
const HEADERS: [string, string | Buffer][] = [
  ['no typ', '{"alg":"HS256"}'],
  ['another typ', '{"alg":"HS256","typ":"at+jwt"}'],
  ['null', 'null'],
  ['a number', '5'],
  ['a text', '"HS256"'],
  ['a list', '["HS256"]'],
  ['no JSON', 'x'],
  ['a byte order mark', BOM + HEADER],
  ['no UTF-8', Buffer.from([0xff])],
  ['no alg', '{"typ":"JWT"}'],
  ['an alg that is a list', '{"alg":["HS256"],"typ":"JWT"}'],
  ['an alg that is null', '{"alg":null,"typ":"JWT"}'],
  ['a kid that is a number', '{"alg":"HS256","typ":"JWT","kid":7}'],
  ['a kid that is null', '{"alg":"HS256","typ":"JWT","kid":null}'],
  ['a crit', '{"alg":"HS256","typ":"JWT","crit":["exp"]}'],
];
const REFUSED: [string, string][] = [
  ['the shortest of them', 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eA.AA'],
  ...PAYLOADS.map(([name, payload]) => [`payload: ${name}`, signed(HEADER, payload)] as [string, string]),
  ...PAYLOADS.map(
    ([name, payload]) => [`payload: ${name}, no typ`, signed('{"alg":"HS256"}', payload)] as [string, string],
  ),
  ...PAYLOADS.map(
    ([name, payload]) =>
      [`payload: ${name}, not signed`, `${base64url(HEADER)}.${base64url(payload)}.AA`] as [string, string],
  ),
  ...HEADERS.slice(2).flatMap(([name, header]) => [
    [`header: ${name}`, signed(header, CLAIMS)] as [string, string],
    [`header: ${name}, payload: no JSON`, signed(header, 'x')] as [string, string],
  ]),
  ['no payload', `${base64url(HEADER)}..AA`],
  ['no signature', `${base64url(HEADER)}.${base64url(CLAIMS)}.`],
  ['four parts', `${signed(HEADER, CLAIMS)}.AA`],
  ['five parts, as of an encrypted token', 'a.b.c.d.e'],
  ['dots', '...'],
  ['padding', `${signed(HEADER, CLAIMS)}=`],
];

const SHARE = newShareToken();
const SHARES: [string, string][] = [
  ['a share link that does not exist', SHARE],
  ['a share link, and a letter more', `${SHARE}A`],
  ['a share link, without its last letter', SHARE.slice(0, -1)],
  ['a share link, with padding', `${SHARE}=`],
  ['a share link, in standard Base64', `hbs_+/${SHARE.slice(6)}`],
  ['a share link, its prefix in capitals', SHARE.replace('hbs_', 'HBS_')],
  ['a share link, its prefix twice', `hbs_${SHARE}`],
  ['a share link, in three parts', `${SHARE}.${SHARE}.${SHARE}`],
  ['the prefix of share links', 'hbs_'],
  ['the prefix of share links, and 16,000 letters', `hbs_${'a'.repeat(16_000)}`],
  ['an id as a share link', 'hbs_7c9e6679-7425-40de-944b-e07fc1f90ae7'],
];
REFUSED.push(...SHARES);

const list = (token: string) => send(`${url}/api/endpoints`, { headers: ['Authorization', `Bearer ${token}`] });

test('the tokens of this test are valid except for the fault that they test', async () => {
  for (const header of [HEADER, '{"alg":"HS256"}', '{"alg":"HS256","typ":"at+jwt"}']) {
    expect([header, (await list(signed(header, CLAIMS))).status]).toEqual([header, 200]);
  }
});

test.each(REFUSED)('401 on every guarded route for a token with %s', async (name, token) => {
  for (const { method, path } of OPERATIONS.filter(({ guarded }) => guarded)) {
    const route = url + path.replace('{id}', '7c9e6679-7425-40de-944b-e07fc1f90ae7');
    const answer = await send(route, { method: method.toUpperCase(), headers: ['Authorization', `Bearer ${token}`] });
    expect([name, method, path, answer.status, answer.bytes.toString()]).toEqual([
      name,
      method,
      path,
      401,
      '{"error":"A valid bearer token is required"}',
    ]);
  }
});

test('a socket with any of them is refused as unauthorized, and does not retry', async () => {
  const clients = REFUSED.map(
    ([name, token]) => [name, closing(startClient(url, token), ({ socket }) => void socket.disconnect())] as const,
  );
  for (const [name, { refusals, socket }] of clients) {
    await eventually(() => refusals.length > 0);
    expect([name, refusals.map(({ message }) => message), socket.active]).toEqual([name, ['unauthorized'], false]);
  }
});

test('any bytes in any part are 401 at most', async () => {
  const part = fc.oneof(
    fc.constantFrom(HEADER, CLAIMS),
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(part, part, fc.boolean(), async (header, payload, right) => {
      const token = right ? signed(header, payload) : `${base64url(header)}.${base64url(payload)}.AA`;
      expect([200, 401]).toContain((await list(token)).status);
    }),
    { numRuns: 300 },
  );
});
