import { assert, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { base64, bodyBytes, decodeText, latin1Bytes, latin1Text } from '../../../src/page/content/bytes.ts';
import { hexRowCount, hexRows } from '../../../src/page/content/hex.ts';

test('a body comes back from both encodings', () => {
  assert(
    property(uint8Array({ maxLength: 200 }), (bytes) => {
      const encoded = base64(bytes);
      expect(encoded).toBe(Buffer.from(bytes).toString('base64'));
      expect(bodyBytes({ body: encoded, body_encoding: 'base64' })).toEqual(new Uint8Array(bytes));
      expect(latin1Bytes(latin1Text(bytes))).toEqual(new Uint8Array(bytes));
    }),
  );
  expect(decodeText(bodyBytes({ body: '\ufeffžluťoučký 🐴', body_encoding: 'utf8' }))).toBe('\ufeffžluťoučký 🐴');
});

test('megabytes are no problem', () => {
  const bytes = new Uint8Array(5_000_000).map((_, i) => (i * 7919) >> 3);
  expect(bodyBytes({ body: base64(bytes), body_encoding: 'base64' })).toEqual(bytes);
});

test('text is strict UTF-8; of a cut one the last character may be incomplete', () => {
  const horse = Buffer.from('a🐴');
  expect(decodeText(horse)).toBe('a🐴');
  for (const length of [2, 3, 4]) {
    expect(decodeText(horse.subarray(0, length))).toBeUndefined();
    expect(decodeText(horse.subarray(0, length), true)).toBe('a');
  }
  expect(decodeText(Buffer.from([0x61, 0xff, 0x62]), true)).toBeUndefined();
  expect(decodeText(new Uint8Array(), true)).toBe('');
});

test('hex rows have offset, digits and printable text', () => {
  const bytes = Uint8Array.from({ length: 40 }, (_, i) => i + 0x70);
  expect(hexRows(bytes, 1, 10)).toEqual([
    {
      offset: '00000010',
      hex: ['80', '81', '82', '83', '84', '85', '86', '87', '88', '89', '8a', '8b', '8c', '8d', '8e', '8f'],
      ascii: '................',
    },
    { offset: '00000020', hex: ['90', '91', '92', '93', '94', '95', '96', '97'], ascii: '........' },
  ]);
  expect(hexRows(bytes, 0, 1)[0]?.ascii).toBe('pqrstuvwxyz{|}~.');
  expect(hexRowCount(bytes)).toBe(3);
});
