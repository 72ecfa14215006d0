import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { tokenFrom } from '../../../src/page/model/token.ts';
import { ApiError } from '../../../src/page/state/api.ts';
import type { Endpoint } from '../../../src/page/state/endpoints.ts';
import { fieldOf } from '../../../src/page/view/dialogs/create-endpoint.ts';
import {
  captureUrl,
  curlTo,
  expiryInWords,
  lastInWords,
  matching,
  nameOf,
  usageInWords,
} from '../../../src/page/view/start/in-words.ts';
import { refusalInWords } from '../../../src/page/view/start/send-test.ts';

const ID = '35c7f2bc-6006-45b0-b5fa-e698d30d9759';
const NOW = Date.parse('2026-11-22T12:00:00.000Z');
const HOUR_MS = 3_600_000;
const after = (hours: number): string => new Date(NOW + hours * HOUR_MS).toISOString();

test('an endpoint is named by its alias, otherwise by the beginning of its id', () => {
  expect([nameOf({ id: ID, alias: 'orders' }), nameOf({ id: ID, alias: null })]).toEqual(['orders', '35c7f2bc']);
  expect(captureUrl('https://x.example', { id: ID, alias: 'orders' })).toBe('https://x.example/h/orders');
  expect(captureUrl('https://x.example', { id: ID, alias: null })).toBe(`https://x.example/h/${ID}`);
});

test('an expiry says when, and whether that is soon', () => {
  const words = (hours: number): string[] => Object.values(expiryInWords({ expires_at: after(hours) }, NOW));
  expect(words(80)).toEqual(['expires in 4 d', 'in 4 d', 'later']);
  expect(words(23.5)).toEqual(['expires in 24 h', 'in 24 h', 'soon']);
  expect(words(-2)).toEqual(['expired 2 h ago', 'expired 2 h ago', 'past']);
  expect(expiryInWords({ expires_at: null }, NOW)).toEqual({ text: 'permanent', when: 'never', state: 'never' });
  expect(lastInWords({ last_request_at: null }, NOW)).toBe('none yet');
  expect(lastInWords({ last_request_at: after(0) }, NOW)).toBe('just now');
  expect(lastInWords({ last_request_at: after(-3) }, NOW)).toBe('3 h ago');
});

test('usage counts what arrived, warns at 80 %, and says until when the cap holds', () => {
  const words = (dailyRequests: number, dailyRequestsMax: number | null, arrived = 0) =>
    usageInWords({ dailyRequests, dailyRequestsMax }, arrived, NOW);
  expect(words(1_203, 10_000, 1)).toMatchObject({ text: '1,204 / 10,000 today', state: 'fine', share: 0.1204 });
  expect(words(7_999, 10_000)).toMatchObject({ state: 'fine' });
  expect(words(8_000, 10_000)).toMatchObject({ text: '8,000 / 10,000 today, near the cap', state: 'near' });
  expect(words(10_000, 10_000, 7)).toMatchObject({ text: 'Cap reached until 00:00 UTC', state: 'reached', share: 1 });
  expect(words(10_000, 10_000, 7).title).toMatch(/^10,000 of 10,000 captures today.*2026-11-2[23] .* here$/);
  expect(words(0, 0)).toMatchObject({ state: 'reached' });
  expect(words(81_234, null)).toMatchObject({ text: '81,234 today', state: 'fine', share: undefined });
});

test('endpoints are found by a part of the alias, or the beginning of the id', () => {
  const list = [
    { id: ID, alias: null },
    { id: 'ffc7f2bc-6006-45b0-b5fa-e698d30d9759', alias: 'orders-35c' },
  ] as Endpoint[];
  const found = (text: string): number[] => matching(list, text).map((endpoint) => list.indexOf(endpoint));
  expect([found(''), found('35C'), found(' RDERS'), found('6006')]).toEqual([[0, 1], [0, 1], [1], []]);
});

test('the command is one for bash, whatever the address has', () => {
  const url = String.raw`http://[::1]:8080/it's/$(id)/h/x`;
  const shown = curlTo(url);
  const args = execFileSync('bash', ['-c', `curl() { printf '%s\\n' "$@"; }; ${shown}`], { encoding: 'utf8' });
  expect(args.trimEnd().split('\n')).toEqual([url, '-H', 'Content-Type: application/json', '-d', '{"hello":"world"}']);
});

test('a token is found in what people paste', () => {
  for (const text of [
    'abc.def-_.ghi',
    '  abc.def-_.ghi\n',
    'Bearer abc.def-_.ghi',
    'Authorization: Bearer abc.def-_.ghi',
    '-H "Authorization: Bearer abc.def-_.ghi"',
    'TOKEN=abc.def-_.ghi',
    "export TOKEN='abc.def-_.ghi'",
    '"abc.def-_.ghi"',
    'abc.def\n-_.ghi',
    'http://localhost:8080/#token=abc.def-_.ghi',
    'http://localhost:8080/#token=abc.def-_.ghi&to=%2Fe%2Fx',
  ])
    expect([text, tokenFrom(text)]).toEqual([text, 'abc.def-_.ghi']);
  expect([tokenFrom(''), tokenFrom(' \n')]).toEqual([undefined, undefined]);
});

test('an error of the API belongs to the field that it names', () => {
  const field = (status: number, message: string): string => fieldOf(new ApiError(status, message));
  expect(field(400, 'alias: must have 3 to 48 characters')).toBe('alias');
  expect(field(409, 'The alias "permanent" is taken')).toBe('alias');
  expect(field(403, 'The plan "free" has no custom aliases')).toBe('alias');
  expect(field(403, 'Your plan allows 3 permanent endpoints, and you have 3')).toBe('permanent');
  expect(field(403, 'Your plan allows 3 endpoints, and you have 3')).toBe('form');
  expect(field(503, 'The alias could not be looked up')).toBe('form');
  expect(fieldOf(new Error('alias'))).toBe('form');
});

test('a refused test request says why', () => {
  expect(refusalInWords(410, { error: 'This endpoint has expired' })).toBe(
    'The test request was not captured: This endpoint has expired (410)',
  );
  expect(refusalInWords(502, {})).toBe('The test request was not captured: no reason was given (502)');
  expect(refusalInWords(429, { error: 'The plan allows 5 a day', resetAt: '2026-11-23T00:00:00.000Z' })).toMatch(
    /^The plan allows 5 a day \(429\)\. Captures are taken again from 00:00 UTC, 2026-11-2[23] .* here$/,
  );
});
