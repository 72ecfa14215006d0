import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { captureDelay, signedAt } from '../../../src/page/content/signed-at.ts';
import { checkStandardWebhook } from '../../../src/page/content/standard-webhooks.ts';

/** The example of the reference libraries. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = new TextEncoder().encode('{"test": 2432232314}');
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const HEADERS = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': SIGNATURE,
};

const check = (headers: Record<string, string> = {}, secret = SECRET, body = BODY) =>
  checkStandardWebhook({ headers: { ...HEADERS, ...headers } }, body, secret);

describe('signatures of Standard Webhooks', () => {
  test('the example of the specification is valid, with and without the prefix of the secret', async () => {
    const valid = { valid: true, expected: SIGNATURE, actual: SIGNATURE };
    expect(await check()).toEqual(valid);
    expect(await check({}, SECRET.slice('whsec_'.length))).toEqual(valid);
  });

  test('any one of several signatures counts, and other versions do not', async () => {
    expect((await check({ 'webhook-signature': `v1,AAAA v2,xx ${SIGNATURE}` })).valid).toBe(true);
    expect(await check({ 'webhook-signature': 'v1a,xx' })).toMatchObject({
      valid: false,
      expected: SIGNATURE,
      details: expect.stringContaining('no "v1,"'),
    });
  });

  test('what is not valid says why', async () => {
    expect(await check({}, SECRET, new TextEncoder().encode('{"test":2432232314}'))).toMatchObject({
      valid: false,
      actual: SIGNATURE,
      details: expect.stringContaining('does not match'),
    });
    expect((await check({ 'webhook-timestamp': '1614265331' })).valid).toBe(false);
    expect((await check({}, 'whsec_not base64!')).details).toContain('not Base64');
    expect((await check({}, 'whsec_')).details).toContain('not Base64');
    expect((await check({ 'webhook-id': '' })).details).toBe('The entry has no header webhook-id.');
  });

  test('the names of Svix mean the same, and any bytes are a body', async () => {
    const body = new Uint8Array([0, 255, 10]);
    const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
    const signature = `v1,${createHmac('sha256', key).update('m.1.').update(body).digest('base64')}`;
    const headers = { 'svix-id': 'm', 'svix-timestamp': '1', 'svix-signature': signature };
    expect(await checkStandardWebhook({ headers }, body, SECRET)).toMatchObject({ valid: true });
  });
});

describe('when an entry was signed', () => {
  test('by the header of its provider', () => {
    const headers = {
      'stripe-signature': 't=1614265330,v1=00',
      'x-slack-request-timestamp': '1614265331',
      'webhook-timestamp': '1614265332',
    };
    expect(['stripe', 'slack', 'standard-webhooks', 'github'].map((name) => signedAt({ headers }, name))).toEqual([
      1_614_265_330_000,
      1_614_265_331_000,
      1_614_265_332_000,
      undefined,
    ]);
    expect(signedAt({ headers: { 'stripe-signature': 'nonsense' } }, 'stripe')).toBeUndefined();
  });

  test.each([
    [0, '0 s after'],
    [119, '119 s after'],
    [3 * 60, '3 min after'],
    [5 * 3_600, '5 h after'],
    [-2, '2 s before'],
  ])('captured %d s later', (seconds, words) => {
    const signed = Date.parse('2026-11-22T12:00:00.000Z');
    expect(captureDelay(signed, new Date(signed + seconds * 1_000 + 900).toISOString())).toBe(words);
  });
});
