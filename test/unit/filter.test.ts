import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { filterOf, filterQuery } from '../../src/api/management/filter-query.ts';
import { isTrivial, matches, skipsBody } from '../../src/domain/filter.ts';
import type { StoredRequest } from '../../src/domain/captured-request.ts';
import { firstIdAt } from '../../src/domain/ids.ts';

const KEY = 'acc193a8-b73b-4634-9b57-1cc0db59b830';
const NOON = Date.parse('2026-11-22T12:00:00Z');
const query = z.object(filterQuery);

function entry(fields: Partial<StoredRequest> = {}): StoredRequest {
  const body = fields.body ?? Buffer.from('{}');
  return {
    id: firstIdAt(NOON),
    endpointId: KEY,
    seq: 1,
    method: 'POST',
    target: `/h/${KEY}/orders/7?page=2`,
    rawHeaders: ['Host', 'example.com', 'X-Topic', 'Orders/Create', 'x-topic', 'second'],
    ip: '127.0.0.1',
    size: body.length,
    isUtf8: true,
    body,
    ...fields,
  };
}

type Query = Record<string, string | string[]>;
const finds = (parameters: Query, fields?: Partial<StoredRequest>): boolean =>
  matches(filterOf(query.parse(parameters)), entry(fields));
/** A text as Node's parser gives the bytes of its UTF-8. */
const wire = (text: string): string => Buffer.from(text).toString('latin1');

describe('an entry matches', () => {
  test.each<[Query, Partial<StoredRequest>, boolean]>([
    [{}, {}, true],
    [{ method: 'PUT,post' }, {}, true],
    [{ method: 'PUT' }, {}, false],
    [{ path: '/orders' }, {}, true],
    [{ path: '/orders/7' }, {}, true],
    [{ path: '/' }, {}, true],
    [{ path: '/Orders' }, {}, false],
    [{ path: '/7' }, {}, false],
    [{ path: '/orders/7?' }, {}, false],
    [{ path: '/' }, { target: `/h/${KEY}` }, false],
    [{ path: '/é' }, { target: wire(`/h/${KEY}/é/1`) }, true],
    [{ since: '2026-11-22T12:00:00Z' }, {}, true],
    [{ since: '2026-11-22T12:00:00.001Z' }, {}, false],
    [{ since: '2026-11-22T13:00:00+01:00' }, {}, true],
    [{ since: '2026-11-22', until: '2026-11-23' }, {}, true],
    [{ until: '2026-11-22T12:00:00Z' }, {}, false],
    [{ until: '2026-11-22T12:00:00.001Z' }, {}, true],
    [{ method: 'POST', path: '/orders', q: 'create', header: 'host' }, {}, true],
    [{ method: 'POST', path: '/orders', q: 'nothing', header: 'host' }, {}, false],
  ])('%j %j: %j', (parameters, fields, fits) => expect(finds(parameters, fields)).toBe(fits));

  test.each<[string, Partial<StoredRequest>, boolean]>([
    ['PAGE=2', {}, true],
    ['oRDERS/cREATE', {}, true],
    ['x-topic', {}, true],
    ['topic: orders', {}, false],
    ['"quoted"', { body: Buffer.from('a "Quoted" word') }, true],
    ['50%_', { body: Buffer.from('50%_off') }, true],
    ['50%_', { body: Buffer.from('50 off') }, false],
    ['grün', { body: Buffer.from('ist GRüN') }, true],
    ['grün', { body: Buffer.from('ist GRÜN') }, false],
    ['grün', { rawHeaders: ['X', wire('Grün')] }, true],
    ['grün', { target: wire(`/h/${KEY}/grün`) }, true],
    ['grün', { body: Buffer.from('gr\xfcn', 'latin1') }, false],
    ['a\0b', { body: Buffer.from('a\0b') }, true],
    ['[\\]', { body: Buffer.from('a [\\] b') }, true],
    ['@@@', { body: Buffer.from('```') }, false],
    ['long', { body: Buffer.from(`${'x'.repeat(1024 * 1024)}long`) }, false],
    ['long', { body: Buffer.from(`${'x'.repeat(1024 * 1024 - 4)}long`) }, true],
    ['long', { body: Buffer.from('long, but cut'), size: 1_000 }, false],
  ])('q=%j', (q, fields, fits) => expect(finds({ q }, fields)).toBe(fits));

  test.each<[string | string[], boolean]>([
    ['x-topic', true],
    ['X-TOPIC:orders/', true],
    ['x-topic: second', true],
    ['x-topic:example', false],
    ['topic', false],
    ['Orders', false],
    [['host:EXAMPLE', 'x-topic:second'], true],
    [['host:EXAMPLE', 'x-topic:third'], false],
  ])('header=%j', (header, fits) => expect(finds({ header })).toBe(fits));

  const JSON_BODY = Buffer.from(
    '{"a":{"b":["x",{"c":1.0}],"t":true,"n":null,"s":"1","big":12345678901234567890,"esc":"\\u0041","e":""},' +
      '"__proto__":{"own":"yes"},"l":[[5]],"twice":1,"twice":2}',
  );
  test.each<[string | string[], boolean]>([
    ['$.a.b[0]=x', true],
    ['$.a.b[0]=X', false],
    ['$.a.b[1].c=1', true],
    ['$.a.b[1].c=1.0', true],
    ['$.a.b[1].c=10e-1', true],
    ['$.a.b[1].c=0x1', false],
    ['$.a.b[1].c=', false],
    ['$.a.s=1', true],
    ['$.a.s=1.0', false],
    ['$.a.t=true', true],
    ['$.a.n=null', true],
    ['$.a.missing=undefined', false],
    ['$.a.big=12345678901234567890', true],
    ['$.a.esc=A', true],
    ['$.a.e=', true],
    ['$.a.b=x', false],
    ['$.a.b.0=x', false],
    ['$.a.b.length=2', false],
    ['$.a.toString=x', false],
    ['$.__proto__.own=yes', true],
    ['$.l[0][0]=5', true],
    ['$.l[0][1]=5', false],
    ['$.twice=2', true],
    ['$.twice=1', false],
    [['$.a.t=true', '$.a.s=1'], true],
    [['$.a.t=true', '$.a.s=2'], false],
  ])('json=%j', (json, fits) => expect(finds({ json }, { body: JSON_BODY })).toBe(fits));

  test.each<[string, Partial<StoredRequest>, boolean]>([
    ['an array', { body: Buffer.from('[{"a":1}]') }, true],
    ['no JSON', { body: Buffer.from('[{"a":1}') }, false],
    ['an empty body', { body: Buffer.alloc(0) }, false],
    ['other bytes', { body: Buffer.from('[{"a":1,"b":"\xff"}]', 'latin1'), isUtf8: false }, false],
    ['128 KiB', { body: Buffer.from('[{"a":1}]'.padEnd(128 * 1024)) }, true],
    ['128 KiB and one byte', { body: Buffer.from('[{"a":1}]'.padEnd(128 * 1024 + 1)) }, false],
    ['a body that is cut', { body: Buffer.from('[{"a":1}]'), size: 10 }, false],
  ])('json in %s', (_name, fields, fits) => expect(finds({ json: '$[0].a=1' }, fields)).toBe(fits));
});

test('which bodies are too long', () => {
  const of = (parameters: Query) => filterOf(query.parse(parameters));
  expect(skipsBody(of({ q: 'abc' }), 2 ** 20)).toBe(false);
  expect(skipsBody(of({ q: 'abc' }), 2 ** 20 + 1)).toBe(true);
  expect(skipsBody(of({ json: '$.a=1' }), 2 ** 17)).toBe(false);
  expect(skipsBody(of({ json: '$.a=1' }), 2 ** 17 + 1)).toBe(true);
  expect(skipsBody(of({ path: '/a', header: 'a' }), 2 ** 30)).toBe(false);
});

test('method and time alone are trivial', () => {
  const trivial = (parameters: Query): boolean => isTrivial(filterOf(query.parse(parameters)));
  expect([{}, { method: 'GET' }, { since: '2026-11-22', until: '2026-11-23' }].map(trivial)).toEqual([
    true,
    true,
    true,
  ]);
  expect([{ path: '/' }, { q: 'abc' }, { header: 'a' }, { json: '$.a=1' }].map(trivial)).toEqual(Array(4).fill(false));
});

test.each<[string, string | string[]]>([
  ['method', ''],
  ['method', 'GET,'],
  ['method', ['GET', 'PUT']],
  ['method', Array(21).fill('GET').join(',')],
  ['path', 'orders'],
  ['path', ''],
  ['path', `/${'x'.repeat(1_000)}`],
  ['q', 'ab'],
  ['q', 'ü'],
  ['q', 'x'.repeat(201)],
  ['q', ['abc', 'def']],
  ['header', ''],
  ['header', 'a b'],
  ['header', 'a:'],
  ['header', `a:${'x'.repeat(201)}`],
  ['header', Array(5).fill('a')],
  ['json', '$=1'],
  ['json', 'a=1'],
  ['json', '$.a'],
  ['json', '$.a[x]=1'],
  ['json', '$..a=1'],
  ['json', '$.a[0=1'],
  ['json', `$${'.a'.repeat(11)}=1`],
  ['json', `$.a=${'x'.repeat(201)}`],
  ['json', Array(5).fill('$.a=1')],
  ['since', 'yesterday'],
  ['since', '2026-11-22T10:00:00'],
  ['until', '2026-02-30'],
  ['until', ['2026-01-01', '2026-01-02']],
])('%s=%j is refused, and the message says what it must be', (name, value) => {
  const { error } = query.safeParse({ [name]: value });
  expect(error?.issues[0]?.path).toEqual([name]);
  expect(error?.issues[0]?.message).toMatch(/^must be /);
});
