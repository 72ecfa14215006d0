import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
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

async function bodyOf(id: string): Promise<Buffer> {
  const { body, body_encoding: encoding } = (await owner.entry(id)).body;
  return Buffer.from(body, encoding);
}

describe('bodies are returned byte for byte [Compressed bodies]', () => {
  test.each([
    ['empty', Buffer.alloc(0)],
    ['one NUL', Buffer.from([0])],
    ['invalid UTF-8', Buffer.from([0xc3, 0x28, 0xff, 0x00, 0xfe])],
    ['an overlong NUL', Buffer.from([0xc0, 0x80])],
    ['a surrogate in UTF-8', Buffer.from([0xed, 0xa0, 0x80])],
    ['a byte order mark', Buffer.from('\ufeff{"a":1}')],
    ['emoji and CRLF', Buffer.from('👩‍👩‍👧‍👦\r\n\u2028\u0000')],
    ['quotes and backslashes', Buffer.from('\\"\'\\u0000%s?:{}')],
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, i) => i))],
    ['gzip, kept as sent', Buffer.from('H4sIAAAAAAAAA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA==', 'base64')],
    ['1 MiB of text', Buffer.from('aé😀'.repeat(149_797).slice(0, 1_048_576 / 4))],
    ['1 MiB of noise', Buffer.from(Array.from({ length: 1_048_576 }, (_, i) => (i * 7_919 + (i >> 8)) & 0xff))],
  ])('%s', async (_name, bytes) => {
    const { id } = await captureOne(url, endpointId, {
      body: bytes,
      headers: ['Content-Encoding', 'gzip', 'Content-Length', String(bytes.length)],
    });
    expect(await bodyOf(id)).toEqual(bytes);
    expect((await owner.body(id)).bytes).toEqual(bytes);
    const entry = (await owner.entry(id)).body;
    expect(entry.size).toBe(bytes.length);
    expect((await owner.list(endpointId, '?limit=1')).body.requests[0]?.size).toBe(bytes.length);
  });

  test('any body, in one piece and in chunks', async () => {
    const anyBody = fc.oneof(
      fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
      fc.string({ unit: 'binary', maxLength: 1_000 }).map((text) => Buffer.from(text)),
      fc.json().map((text) => Buffer.from(text)),
    );
    await fc.assert(
      fc.asyncProperty(anyBody, fc.boolean(), async (bytes, chunked) => {
        const headers = chunked ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(bytes.length)];
        const { id } = await captureOne(url, endpointId, { body: bytes, headers });
        expect(await bodyOf(id)).toEqual(bytes);
      }),
      { numRuns: 200 },
    );
  });
});

test('any header name and value is returned, joined where repeated', async () => {
  const name = fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'cookie', 'Set-Cookie', 'x_y.z'),
    fc
      .string({ unit: fc.constantFrom(...'abcXYZ019!#$%&*+-.^_`|~'.split('')), minLength: 1, maxLength: 20 })
      .map((text) => `x-${text}`),
  );
  // Everything that RFC 9110 allows in a value; bytes above 0x7f are sent as Latin-1.
  const inner = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).filter(
    (c) => c === '\t' || (c >= ' ' && c !== '\x7f'),
  );
  const value = fc
    .string({ unit: fc.constantFrom(...inner), maxLength: 60 })
    .map((text) => text.trim().replace(/^[\t ]+|[\t ]+$/g, ''));
  const pairs = fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(pairs, async (list) => {
      const { id } = await captureOne(url, endpointId, { headers: list.flat() });
      const { headers } = (await owner.entry(id)).body;
      const expected = new Map<string, string[]>();
      for (const [key, text] of list)
        expected.set(key.toLowerCase(), [...(expected.get(key.toLowerCase()) ?? []), text]);
      for (const [key, values] of expected) {
        expect(Object.hasOwn(headers, key)).toBe(true);
        expect(headers[key]).toBe(values.join(key === 'cookie' ? '; ' : ', '));
      }
      expect(Object.keys(headers).toSorted()).toEqual(
        [...new Set([...expected.keys(), 'host', 'transfer-encoding', 'connection'])].toSorted(),
      );
    }),
    { numRuns: 200 },
  );
});

test('any query is returned, and invalid UTF-8 as it was sent', async () => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 15 }).map((text) => ({ sent: encodeURIComponent(text), meant: text })),
    fc.constantFrom('__proto__', 'constructor', 'a', 'a').map((text) => ({ sent: text, meant: text })),
    fc.constantFrom('%', '%zz', '%c0%af', '%ff', '%e2%82', 'x%').map((text) => ({ sent: text, meant: text })),
    fc.constant({ sent: 'a+b%2B', meant: 'a b+' }),
    fc.constant({ sent: 'x%00', meant: 'x\0' }),
  );
  const query = fc.array(fc.tuple(part, part), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(query, async (pairs) => {
      const sent = pairs.map(([name, value]) => `${name.sent}=${value.sent}`).join('&');
      const { id } = await captureOne(url, `${endpointId}?${sent}`);
      const got = (await owner.entry(id)).body.query;
      const expected = new Map<string, string[]>();
      for (const [name, value] of pairs) expected.set(name.meant, [...(expected.get(name.meant) ?? []), value.meant]);
      expect(Object.keys(got).toSorted()).toEqual([...expected.keys()].toSorted());
      for (const [name, values] of expected)
        expect(Object.getOwnPropertyDescriptor(got, name)?.value).toEqual(values.length === 1 ? values[0] : values);
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});

test('with raw=true the target and each header as sent are in the list and the detail [`target`, `raw_headers`]', async () => {
  const sent = ['X-Twice', 'a', 'x-twice', 'B', 'X-Latin', 'gr\xfcn'];
  for (const body of ['short', 'x'.repeat(100_000)]) {
    const { id } = await captureOne(url, `${endpointId}//a/%7e?b=1&b=%zz`, { headers: sent, body });
    const plain = (await owner.entry(id)).body;
    expect(plain).not.toHaveProperty('target');
    const detail = (await owner.entry(id, '?raw=true')).body;
    expect(detail).toEqual({ ...plain, target: detail.target, raw_headers: detail.raw_headers });
    expect(detail.target).toBe(`/h/${endpointId}//a/%7e?b=1&b=%zz`);
    expect(detail.raw_headers?.slice(2, 5)).toEqual([
      ['X-Twice', 'a'],
      ['x-twice', 'B'],
      ['X-Latin', 'gr\xfcn'],
    ]);
    expect((await owner.list(endpointId, '?limit=1&raw=true')).body.requests).toEqual([detail]);
    expect((await owner.list(endpointId, '?limit=1&raw=false')).body.requests).toEqual([plain]);
    expect((await owner.entry(id, '?raw=yes')).body).toEqual({ error: 'raw: must be true or false' });
  }
});
