import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonStrings } from '../../../src/page/content/fields.ts';
import { eventName, recognise } from '../../../src/page/content/provider.ts';
import { entryOf } from './entries.ts';

const deliveryOf = (headers: Record<string, string>, body: unknown = ''): unknown =>
  recognise(
    entryOf({ headers: Object.entries(headers), body: typeof body === 'string' ? body : JSON.stringify(body) }),
  );

test('GitHub, by its headers', () => {
  const headers = { 'X-GitHub-Event': 'push', 'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958' };
  const wanted = { provider: 'github', name: 'GitHub', event: 'push', id: headers['X-GitHub-Delivery'] };
  expect(deliveryOf(headers)).toEqual({ ...wanted, signed: false, verifiable: false });
  expect(deliveryOf({ ...headers, 'X-Hub-Signature-256': 'sha256=0' })).toEqual({
    ...wanted,
    signed: true,
    verifiable: true,
  });
  expect(deliveryOf({ ...headers, 'X-Gitea-Event': 'push' })).toBeUndefined();
});

test('Stripe, by its signature and what the event says', () => {
  const event = {
    id: 'evt_1',
    object: 'event',
    account: 'acct_1',
    data: { object: { id: 'in_1', type: 'inner', lines: [{ id: 'il_1', type: 'line' }] } },
    type: 'invoice.paid',
  };
  const wanted = { provider: 'stripe', name: 'Stripe', event: 'invoice.paid', id: 'evt_1', about: 'acct_1' };
  const headers = { 'Stripe-Signature': 't=1,v1=0' };
  expect(deliveryOf(headers, event)).toEqual({ ...wanted, signed: true, verifiable: true });
  expect(deliveryOf(headers, JSON.stringify(event, null, 2))).toMatchObject(wanted);
  const long = { ...event, data: { text: 'x'.repeat(50_000) }, type: undefined };
  expect(deliveryOf(headers, { ...long, type: 'invoice.paid' })).toEqual(
    expect.objectContaining({ event: 'invoice.paid' }),
  );
  expect(deliveryOf(headers, JSON.stringify({ ...long, type: 'a.b' }, null, 2))).toMatchObject({
    event: 'a.b',
    id: 'evt_1',
  });
  expect(deliveryOf({ 'User-Agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)' }, event)).toMatchObject({
    signed: false,
    verifiable: false,
  });
});

test('Shopify, by its headers', () => {
  expect(
    deliveryOf({
      'X-Shopify-Topic': 'orders/create',
      'X-Shopify-Webhook-Id': 'b54557e4',
      'X-Shopify-Shop-Domain': 'a.myshopify.com',
      'X-Shopify-Hmac-Sha256': 'x',
    }),
  ).toEqual({
    provider: 'shopify',
    name: 'Shopify',
    event: 'orders/create',
    id: 'b54557e4',
    about: 'a.myshopify.com',
    signed: true,
    verifiable: true,
  });
});

test('Slack: events, commands and interactions', () => {
  const headers = { 'X-Slack-Signature': 'v0=0', 'X-Slack-Request-Timestamp': '1' };
  const event = { token: 'x', team_id: 'T1', event: { type: 'app_mention' }, type: 'event_callback', event_id: 'Ev1' };
  const wanted = { provider: 'slack', name: 'Slack', about: 'T1', signed: true, verifiable: true };
  expect(deliveryOf(headers, event)).toEqual({ ...wanted, event: 'app_mention', id: 'Ev1' });
  expect(deliveryOf(headers, { type: 'url_verification', challenge: 'x' })).toMatchObject({
    event: 'url_verification',
  });
  expect(deliveryOf(headers, 'token=x&team_id=T1&command=%2Fweather&text=94070')).toEqual({
    ...wanted,
    event: '/weather',
  });
  const payload = encodeURIComponent(JSON.stringify({ type: 'block_actions', team: { id: 'T1' } }));
  expect(deliveryOf(headers, `payload=${payload}`)).toEqual({ ...wanted, event: 'block_actions' });
});

test('Standard Webhooks, which the API does not check', () => {
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x' };
  const wanted = { provider: 'standard-webhooks', event: 'user.created', id: 'msg_1', signed: true, verifiable: false };
  expect(deliveryOf(headers, { type: 'user.created' })).toMatchObject(wanted);
  const svix = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace('webhook', 'svix'), value]),
  );
  expect(deliveryOf(svix, { type: 'user.created' })).toMatchObject(wanted);
});

test('other senders have an event by a header, or by a name in JSON', () => {
  const nameOf = (headers: [string, string][], body = ''): unknown => eventName(entryOf({ headers, body }));
  expect(nameOf([['X-Event-Key', 'repo:push']])).toBe('repo:push');
  expect(nameOf([['X-Gitlab-Event', 'Push Hook']])).toBe('Push Hook');
  expect(nameOf([['ce-type', 'com.example']], '{"type":"inner"}')).toBe('com.example');
  expect(nameOf([], '{"data":{"type":"inner"},"type":"a.b"}')).toBe('a.b');
  expect(nameOf([], '{"event":"paid","x":1}')).toBe('paid');
  expect(nameOf([], '{"event":{"type":"inner"}}')).toBeUndefined();
  expect(nameOf([], '[{"type":"a"}]')).toBeUndefined();
  expect(nameOf([], `{"type":"${'x'.repeat(500)}"}`)).toBe('x'.repeat(80));
  expect([nameOf([]), nameOf([], 'type=a')]).toEqual([undefined, undefined]);
  expect(eventName({ ...entryOf({ body: Uint8Array.of(0xff) }) })).toBeUndefined();
});

test('a beginning of JSON tells what it can', () => {
  expect(
    jsonStrings('{"id":"evt_\\u0031","data":{"type":"x","n":[{"type":"y"}, "z"]},"type":"a","ty', ['id', 'type']),
  ).toEqual(
    new Map([
      ['id', 'evt_1'],
      ['type', 'a'],
    ]),
  );
  expect(jsonStrings('{"type":"unfinished', ['type']).size).toBe(0);
});

test('strings are those that a parser finds, and no text is a fault', () => {
  const places = ['type', 'id', 'event.type'];
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string({ unit: 'grapheme' }),
      fc.integer(),
      fc.constant(null),
      fc.array(tie('value')),
      tie('object'),
    ),
    object: fc.dictionary(fc.constantFrom('type', 'id', 'event', 'a"b', '\\', ':', '{'), tie('value')),
  })).object;
  const at = (object: unknown, place: string): unknown =>
    place
      .split('.')
      .reduce(
        (inner, name) =>
          inner instanceof Object && !Array.isArray(inner) && Object.hasOwn(inner, name)
            ? (inner as Record<string, unknown>)[name]
            : undefined,
        object,
      );
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2), (sample, space) => {
      const object: unknown = JSON.parse(JSON.stringify(sample));
      const wanted = places.flatMap((place) =>
        typeof at(object, place) === 'string' ? [[place, at(object, place)]] : [],
      );
      const found = jsonStrings(JSON.stringify(object, null, space), places);
      expect(Object.fromEntries(found)).toEqual(Object.fromEntries(wanted));
    }),
    { numRuns: 500 },
  );
  const texts = fc
    .array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', 'type', '"type"'))
    .map((parts) => `{${parts.join('')}`);
  fc.assert(
    fc.property(texts, (text) => {
      expect(jsonStrings(text, places)).toBeInstanceOf(Map);
    }),
    { numRuns: 1_000 },
  );
});

test('a row costs the same for a small body and for a large one', () => {
  const hostile = [
    '{'.repeat(250_000),
    `{"a":"${'\\"'.repeat(125_000)}`,
    `{${'"a":"b",'.repeat(30_000)}`,
    `{"a":[${'"a",'.repeat(60_000)}`,
  ];
  const timeOf = (body: string): number => {
    const entry = entryOf({ headers: [['stripe-signature', 'x']], body });
    const start = performance.now();
    for (let i = 0; i < 200; i++) recognise(entry);
    return performance.now() - start;
  };
  for (const body of hostile) {
    const [small, large] = [body.slice(0, 4_096), body].map((text) =>
      Math.min(timeOf(text), timeOf(text), timeOf(text)),
    );
    // Reading all would be 60 times as long.
    expect((large ?? 0) / Math.max(small ?? 0, 1)).toBeLessThan(15);
  }
});
