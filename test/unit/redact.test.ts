import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredRequest } from '../../src/domain/captured-request.ts';
import { presentRequest } from '../../src/domain/log-entry.ts';
import { redacted } from '../../src/domain/redact.ts';

const stored = (fields: Partial<StoredRequest>): StoredRequest => ({
  id: '01a2008e-cc9e-744d-a9e7-381f8998b5ec',
  endpointId: '35c7f2bc-6006-45b0-b5fa-e698d30d9759',
  seq: 1,
  method: 'POST',
  target: '/h/x',
  rawHeaders: [],
  ip: '192.0.2.7',
  size: 0,
  isUtf8: true,
  body: Buffer.alloc(0),
  ...fields,
});

const SECRET_HEADERS = [
  ['Authorization', 'AUTHORIZATION', 'authorization', 'Proxy-Authorization', 'X-Original-Authorization'],
  ['Cookie', 'Set-Cookie', 'cookie2'],
  ['X-Hub-Signature-256', 'Stripe-Signature', 'x_slack_signature', 'X-Shopify-Hmac-SHA256'],
  ['X-Gitlab-Token', 'X-Auth-Token', 'TOKEN', 'X-Amz-Security-Token', 'Cf-Access-Jwt-Assertion'],
  ['X-Api-Key', 'apikey', 'API_KEY', 'x-apikey', 'Ocp-Apim-Subscription-Key', 'X-Client-Secret', 'X-Password'],
].flat();
const SENDER_HEADERS = [
  ['X-Forwarded-For', 'X-FORWARDED-FOR', 'x_forwarded_for', 'Forwarded', 'X-Original-Forwarded-For', 'Forwarded-For'],
  ['X-Real-IP', 'x_real_ip', 'CF-Connecting-IP', 'CF-Connecting-IPv6', 'True-Client-IP', 'X-Client-IP', 'Client-IP'],
  ['X-Azure-ClientIP', 'X-Azure-SocketIP', 'X-Appengine-User-Ip', 'X-Envoy-External-Address', 'Remote-Addr'],
  ['CloudFront-Viewer-Address', 'Fastly-Client-IP', 'X-Cluster-Client-IP', 'X-Originating-IP'],
].flat();
const PLAIN_HEADERS = [
  ['Host', 'User-Agent', 'Content-Type', 'Content-Length', 'Accept', 'X-GitHub-Event', 'X-GitHub-Delivery'],
  ['Idempotency-Key', 'Date', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Request-Id', 'X-Author', 'Webhook-Id'],
  ['X-Zip', 'CF-IPCountry', 'Traceparent'],
].flat();

describe('headers', () => {
  test.each([...SECRET_HEADERS, ...SENDER_HEADERS])('the value of %s is hidden', (name) => {
    const { headers } = presentRequest(redacted(stored({ rawHeaders: [name, 'hidden', 'A', 'b', name, 'hidden'] })));
    expect(headers).toEqual({ a: 'b', [name.toLowerCase()]: expect.stringMatching(/^\*\*\*[,;] \*\*\*$/) });
  });

  test.each(PLAIN_HEADERS)('the value of %s is shown', (name) => {
    expect(redacted(stored({ rawHeaders: [name, 'shown'] })).rawHeaders).toEqual([name, 'shown']);
  });

  test.each([
    ['Referer', 'https://a.example/?token=abc&page=1', 'https://a.example/?token=***&page=1'],
    ['Link', '<https://a.example/?a=1&sig=abc>; rel="next"', '<https://a.example/?a=1&sig=***'],
    ['X-Original-URL', '/x;api_key=abc', '/x;api_key=***'],
    ['Content-Type', 'multipart/form-data; boundary=abc', 'multipart/form-data; boundary=abc'],
    ['Cache-Control', 'max-age=0', 'max-age=0'],
  ])('a parameter in %s is hidden by its name', (name, value, shown) => {
    expect(redacted(stored({ rawHeaders: [name, value] })).rawHeaders[1]).toBe(shown);
  });
});

describe('the target', () => {
  test.each([
    ['/h/x?token=abc', '/h/x?token=***'],
    ['/h/x?page=2&TOKEN=abc&b=3', '/h/x?page=2&TOKEN=***&b=3'],
    ['/h/x?page=2&access_token=a=b=c', '/h/x?page=2&access_token=***'],
    ['/h/x?%74oken=abc&t%4Fken=abc', '/h/x?%74oken=***&t%4Fken=***'],
    ['/h/x?%ff%74oken=abc&%zz_token=abc', '/h/x?%ff%74oken=***&%zz_token=***'],
    ['/h/x?user[token]=abc&a.api-key=abc&a+token=abc', '/h/x?user[token]=***&a.api-key=***&a+token=***'],
    ['/h/x?token=abc;def?ghi#jkl/mno', '/h/x?token=***'],
    ['/h/x?a=1;token=abc;b=2&c=3', '/h/x?a=1;token=***&c=3'],
    ['/h/x?next=https://a.example/?secret=abc', '/h/x?next=https://a.example/?secret=***'],
    ['/h/x;token=abc/y?z=1', '/h/x;token=***'],
    ['/h/x?sig=abc&se=2026', '/h/x?sig=***&se=2026'],
    ['/h/x?token', '/h/x?token'],
    ['/h/x?token=', '/h/x?token=***'],
    ['/h/x?&&=&=abc&token=abc', '/h/x?&&=&=abc&token=***'],
    ['/h/x?a=1&b=2', '/h/x?a=1&b=2'],
    ['?token=abc', '?token=***'],
    ['', ''],
  ])('%s is shown as %s', (target, shown) => {
    expect(redacted(stored({ target })).target).toBe(shown);
  });

  test('the query that is shown has the value of no parameter with the name of a secret', () => {
    const name = fc.constantFrom('token', 'API-Key', 'x_secret', '%73ecret', 'sig', 'user[password]', 'to%6Ben');
    const filler = fc.string({ unit: fc.constantFrom(...'ab=;?#&+%/.[]1'.split('')) });
    fc.assert(
      fc.property(filler, name, filler, (before, secret, rest) => {
        const value = `CANARY${rest.replaceAll('&', '')}CANARY`;
        const entry = presentRequest(redacted(stored({ target: `/h/x?${before}&${secret}=${value}&z=${rest}` })));
        expect(JSON.stringify([entry.path, entry.query])).not.toContain('CANARY');
      }),
      { numRuns: 2_000 },
    );
  });

  test('a target of many separators takes no longer than one of none', () => {
    const time = (target: string): number => {
      const start = performance.now();
      for (let n = 0; n < 20; n += 1) redacted(stored({ target }));
      return performance.now() - start;
    };
    const worst = Math.max(
      ...['?', ';a', '&', '&a=', '=', '%61', ';%'].map((part) => time(`/h/x?${part.repeat(8_000)}`)),
    );
    // Quadratic work would take minutes.
    expect(worst).toBeLessThan(5_000);
  });
});

test('ids, body and the rest stay, and the address of the sender is left out', () => {
  const request = stored({ body: Buffer.from('token=abc'), size: 9, rawHeaders: ['Authorization', 'x'] });
  expect(redacted(request)).toEqual({ ...request, ip: '', rawHeaders: ['Authorization', '***'] });
  expect(request.rawHeaders).toEqual(['Authorization', 'x']);
});
