import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  PROVIDERS,
  verifySignature,
  type Provider,
  type VerificationResult,
} from '../../src/domain/signature/verify.ts';

const NOW = 1_700_000_000_000;
const T = '1700000000';

function verify(
  provider: Provider,
  payload: string | Buffer,
  signature: string,
  secret: string,
  timestamp?: string,
  now = NOW,
): Promise<VerificationResult> {
  return verifySignature(provider, { payload: Buffer.from(payload as string), signature, secret, timestamp }, now);
}

/** An independent signer: the signature that a provider would send for a payload. */
function sign(provider: Provider, payload: string | Buffer, secret: string, t = T): string {
  const mac = (prefix: string): ReturnType<typeof createHmac> =>
    createHmac('sha256', secret).update(prefix).update(payload);
  if (provider === 'github') return `sha256=${mac('').digest('hex')}`;
  if (provider === 'stripe') return `t=${t},v1=${mac(`${t}.`).digest('hex')}`;
  if (provider === 'shopify') return mac('').digest('base64');
  return `v0=${mac(`v0:${t}:`).digest('hex')}`;
}

const SLACK_BODY =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';

describe('published vectors [Verify: `expected`, `actual`]', () => {
  test.each<[Provider, string, string, string, string?]>([
    [
      'github',
      'Hello, World!',
      'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      "It's a Secret to Everybody",
    ],
    ['github', '{"foo":"bar"}', 'sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3', 'mysecret'],
    [
      'slack',
      SLACK_BODY,
      'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      '8f742231b10e8888abcd99yyyzzz85a5',
      '1531420618',
    ],
    ['shopify', '{"foo": "bar"}', 'B23tXN681gZ0qIWNRrgtzBE9XSDo5yaUu6wfmhu3a7g=', 'test_secret_key'],
  ])('%s %j', async (provider, payload, signature, secret, timestamp) => {
    const result = await verify(provider, payload, signature, secret, timestamp, Number(timestamp ?? 0) * 1000 || NOW);
    expect(result).toEqual({ valid: true, expected: signature, actual: signature });
  });
});

describe('every provider', () => {
  const anyPayload = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );

  test.each(PROVIDERS)(
    '%s: accepts a valid signature, for any payload and secret [Verify: Slack]',
    async (provider) => {
      await fc.assert(
        fc.asyncProperty(anyPayload, fc.string({ unit: 'grapheme', minLength: 1 }), async (payload, secret) => {
          const signature = sign(provider, payload, secret);
          expect(await verify(provider, payload, signature, secret, T)).toEqual({
            valid: true,
            expected: signature,
            actual: signature,
          });
        }),
      );
    },
  );

  test.each(PROVIDERS)(
    '%s: refuses anything else, and never throws [Verify: provider-level failure]',
    async (provider) => {
      await fc.assert(
        fc.asyncProperty(
          fc.string({ unit: 'binary' }),
          fc.string({ unit: 'binary' }),
          fc.option(fc.string(), { nil: undefined }),
          async (payload, signature, timestamp) => {
            const result = await verify(provider, payload, signature, 'secret', timestamp);
            expect(result).toMatchObject({ valid: false, actual: signature, details: expect.stringMatching(/\.$/) });
          },
        ),
      );
    },
  );

  test.each(PROVIDERS)('%s: only the canonical text is valid, not what decodes to the same bytes', async (provider) => {
    const good = sign(provider, 'payload', 'secret');
    for (const altered of [
      `${good}!`,
      `${good} `,
      ` ${good}`,
      `${good}00`,
      `${good}=`,
      good.slice(0, -1),
      `${good}\n`,
      `${good},`,
    ]) {
      // White space and empty parts between the parts of a Stripe signature are ignored.
      if (provider === 'stripe' && altered.replace(/[\s,]+/g, '') === good.replace(/[\s,]+/g, '')) continue;
      expect([altered, (await verify(provider, 'payload', altered, 'secret', T)).valid]).toEqual([altered, false]);
    }
  });

  test.each(PROVIDERS)('%s: empty payload, emoji, CRLF and 1 MiB', async (provider) => {
    for (const payload of ['', '{"a":"👩‍👩‍👧 ü"}\r\n', 'x'.repeat(1024 * 1024)]) {
      expect((await verify(provider, payload, sign(provider, payload, 'secret'), 'secret', T)).valid).toBe(true);
    }
  });

  test.each(PROVIDERS)('%s: names the usual mistake that was made', async (provider) => {
    const signed = '{"a":1,"b":[true,"x"]}';
    const details = async (payload: string, secret = 'secret', of = signed): Promise<string> =>
      (await verify(provider, payload, sign(provider, of, 'secret'), secret, T)).details ?? '';
    expect(await details(`${signed}\n`)).toMatch(/white space around it .* trimmed/);
    expect(await details('{ "a": 1,\n  "b": [ true, "x" ] }')).toMatch(/re-serialised/);
    expect(await details(signed, ' secret\n')).toMatch(/secret has white space/);
    expect(await details('a\r\nb', 'secret', 'a\nb')).toMatch(/line breaks .* LF/);
    expect(await details('a\nb', 'secret', 'a\r\nb')).toMatch(/line breaks .* CRLF/);
    expect(await details('{"a":2}')).toMatch(/does not match: either the secret/);
    expect(await details(signed, 'other')).toMatch(/does not match: either the secret/);
  });
});

describe('github', () => {
  const good = sign('github', 'p', 's');
  test.each([
    ['no prefix', good.slice(7), /must start with "sha256="/],
    ['SHA-1', `sha1=${'a'.repeat(40)}`, /SHA-1 .*X-Hub-Signature-256/],
    ['capitals', `sha256=${good.slice(7).toUpperCase()}`, /capital/],
    ['a capital prefix', `SHA256=${good.slice(7)}`, /must start with/],
    ['too short', good.slice(0, -2), /62 hex digits; HMAC-SHA256 has 64/],
    ['no hex', `sha256=${'z'.repeat(64)}`, /not hexadecimal/],
    ['empty', '', /must start with/],
  ])('%s', async (_name, signature, details) => {
    expect(await verify('github', 'p', signature, 's')).toEqual({
      valid: false,
      expected: good,
      actual: signature,
      details: expect.stringMatching(details),
    });
  });
});

describe('stripe', () => {
  const good = sign('stripe', 'p', 's');
  const hex = good.slice(good.indexOf('v1=') + 3);
  const other = 'a'.repeat(64);
  test.each([
    ['first of two', `t=${T},v1=${hex},v1=${other}`],
    ['last of three', `t=${T},v1=${other},v1=${other},v1=${hex}`],
    ['last of sixteen', `t=${T}${`,v1=${other}`.repeat(15)},v1=${hex}`],
    ['t at the end', `v1=${hex},t=${T}`],
    ['other schemes', `t=${T},v0=${other},v1=${hex},v2=x`],
    ['stray spaces', ` t=${T} , v1=${hex} , v0=${other}`],
  ])('valid: %s', async (_name, signature) => {
    expect(await verify('stripe', 'p', signature, 's')).toEqual({ valid: true, expected: good, actual: signature });
  });
  test.each([
    ['no t', `v1=${hex}`, '', /no "t="/],
    ['a t that is no time', `t=soon,v1=${hex}`, '', /not a time/],
    ['no v1', `t=${T}`, good, /no "v1=" part; pass/],
    ['only v0', `t=${T},v0=${hex}`, good, /no "v1=" part, only v0/],
    ['capitals', `t=${T},v1=${hex.toUpperCase()}`, good, /capital/],
    ['too short', `t=${T},v1=abc`, good, /3 hex digits/],
    ['another time', `t=1700000001,v1=${hex}`, sign('stripe', 'p', 's', '1700000001'), /does not match/],
    ['garbage', 'garbage', '', /no "t="/],
    [
      'seventeen v1',
      `t=${T}${`,v1=${other}`.repeat(16)},v1=${hex}`,
      good,
      /has 17 "v1=" parts; at most 16 are checked\.$/,
    ],
  ])('refused: %s', async (_name, signature, expected, details) => {
    expect(await verify('stripe', 'p', signature, 's')).toEqual({
      valid: false,
      expected,
      actual: signature,
      details: expect.stringMatching(details),
    });
  });
  test('the whole secret is the key, with its whsec_ [Verify: Stripe]', async () => {
    expect((await verify('stripe', 'p', sign('stripe', 'p', 'whsec_abc'), 'whsec_abc')).valid).toBe(true);
    expect((await verify('stripe', 'p', sign('stripe', 'p', 'whsec_abc'), 'abc')).valid).toBe(false);
  });
});

describe('shopify', () => {
  const good = sign('shopify', 'p', 's');
  test.each([
    ['hex', Buffer.from(good, 'base64').toString('hex'), /hexadecimal; Shopify sends Base64/],
    ['without padding', good.slice(0, -1), /standard Base64/],
    ['empty', '', /0 characters/],
  ])('%s', async (_name, signature, details) => {
    expect(await verify('shopify', 'p', signature, 's')).toEqual({
      valid: false,
      expected: good,
      actual: signature,
      details: expect.stringMatching(details),
    });
  });
});

describe('slack', () => {
  const good = sign('slack', 'p', 's');
  test.each([
    ['no timestamp', good, undefined, '', /timestamp is required/],
    ['an empty timestamp', good, '', '', /timestamp is required/],
    ['a timestamp that is none', good, '2023-11-14', '', /Unix seconds/],
    ['another timestamp', good, '1700000001', sign('slack', 'p', 's', '1700000001'), /does not match/],
    ['no prefix', good.slice(3), T, good, /must start with "v0="/],
    ['another version', good.replace('v0', 'v1'), T, good, /must start with "v0="/],
    ['capitals', `v0=${good.slice(3).toUpperCase()}`, T, good, /capital/],
  ])('%s', async (_name, signature, timestamp, expected, details) => {
    expect(await verify('slack', 'p', signature, 's', timestamp)).toEqual({
      valid: false,
      expected,
      actual: signature,
      details: expect.stringMatching(details),
    });
  });
});

test.each(['stripe', 'slack'] as const)(
  'the age of a %s timestamp never decides; over five minutes it is in details [Verify: age of a timestamp]',
  async (provider) => {
    const good = sign(provider, 'p', 's');
    const at = (seconds: number): Promise<VerificationResult> =>
      verify(provider, 'p', good, 's', T, NOW + seconds * 1000);
    for (const seconds of [0, 300, -300])
      expect(await at(seconds)).toEqual({ valid: true, expected: good, actual: good });
    expect(await at(600)).toEqual({
      valid: true,
      expected: good,
      actual: good,
      details: expect.stringMatching(/10 minutes old/),
    });
    expect((await at(-600)).details).toMatch(/10 minutes in the future/);
    expect(await verify(provider, 'q', good, 's', T, NOW + 600_000)).toMatchObject({
      valid: false,
      details: expect.stringMatching(/does not match.*10 minutes old/),
    });
  },
);
