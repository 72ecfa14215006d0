import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { kindOf } from '../../../src/page/content/kind.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

function kind(body: string | Uint8Array, type = '', cut = false): [string, string?] {
  const { kind, note } = kindOf(Buffer.from(body), type, cut);
  return note === undefined ? [kind] : [kind, note];
}

test.each<[string, string | Uint8Array, string]>([
  ['empty', '', 'application/json'],
  ['json', '{"a":1}', 'application/json; charset=utf-8'],
  ['json', ' [1]\n', 'application/vnd.api+json'],
  ['json', '"x"', 'application/json'],
  ['json', '{}', ''],
  ['ndjson', '{"a":1}\n{"a":2}\n', ''],
  ['ndjson', '{"a":1}\n', 'application/x-ndjson'],
  ['form', 'a=1&b=2', 'application/x-www-form-urlencoded'],
  ['form', 'payload=%7B%7D', 'application/x-www-form-urlencoded'],
  ['form', 'token=x&team_id=T0', ''],
  ['multipart', '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--', 'multipart/form-data; boundary=b'],
  ['multipart', '--b\r\nA: 1\r\n\r\n1\r\n--b--', 'multipart/mixed; boundary="b"'],
  ['xml', '<?xml version="1.0"?><a/>', 'application/xml'],
  ['xml', '<soap:Envelope xmlns:soap="x"></soap:Envelope>\n', 'application/soap+xml'],
  ['xml', '<!DOCTYPE html><html></html>', 'text/html'],
  ['xml', '<svg xmlns="http://www.w3.org/2000/svg"></svg>', 'image/svg+xml'],
  ['text', 'hello', 'text/plain'],
  ['text', 'hello', 'application/octet-stream'],
  ['text', '123', 'text/plain'],
  ['text', 'a=1', ''],
  ['text', 'a,b\n1,2', 'text/csv'],
  ['text', 'a\0b', ''],
  ['text', '\x1b[31mred\x1b[0m \u202e', 'text/plain'],
  ['binary', Uint8Array.of(0xff, 1), 'application/octet-stream'],
  ['binary', Uint8Array.of(0, 1, 2, 3), ''],
  ['image', PNG, 'image/png'],
  ['image', Buffer.from('GIF89a....'), ''],
  ['image', PNG, 'application/octet-stream'],
  ['image', Buffer.from('ffd8ffe000', 'hex'), 'image/jpg'],
  ['image', Buffer.from('ffd8ffe000', 'hex'), 'image/jpeg'],
  ['image', Buffer.from('RIFF\x01\x02\x03\x04WEBPVP8 '), 'image/webp'],
  ['image', Buffer.from('\0\0\0 ftypavif\0\0\0\0'), 'image/avif'],
])('%s: %j as %j', (wanted, body, type) => {
  expect(kind(body, type)).toEqual([wanted]);
});

test.each<[string, string, string | Uint8Array, string]>([
  ['json', 'Sent as text/plain, but it is JSON', '{"a":1}', 'text/plain'],
  [
    'json',
    'Sent as application/x-www-form-urlencoded, but it is JSON',
    '{"a":"b=c"}',
    'application/x-www-form-urlencoded',
  ],
  ['text', 'Sent as application/json, but it is not JSON', '{"a":1', 'application/json'],
  ['text', 'Sent as application/json, but it is not JSON', 'hello', 'Application/JSON;x=y'],
  ['binary', 'Sent as application/json, but it is not JSON', Uint8Array.of(0xff, 0xfe), 'application/json'],
  ['binary', 'Sent as text/plain, but it is not text', Uint8Array.of(0xff, 0xfe), 'text/plain'],
  ['binary', 'Sent as image/png, but it is not an image', Uint8Array.of(0xff, 0xfe), 'image/png'],
  ['image', 'Sent as text/html, but it is image/png', PNG, 'text/html'],
  ['image', 'Sent as image/jpeg, but it is image/png', PNG, 'image/jpeg'],
  ['ndjson', 'Sent as application/json, but it is NDJSON', '{"a":1}\n{"a":2}', 'application/json'],
  ['xml', 'Sent as application/json, but it is XML', '<error>x</error>', 'application/json'],
  ['text', 'Sent as multipart/form-data, but it is not multipart', 'x', 'multipart/form-data; boundary=b'],
  ['multipart', 'Sent as text/plain, but it is multipart', '--b\nContent-Type: a/b\n\n1\n--b--', 'text/plain'],
  ['text', 'Sent as application/xml, but it is not XML', '<3 you', 'application/xml'],
  ['form', 'Sent as application/json, but it is a form', 'a=1&b=2', 'application/json'],
])('%s: %s', (wanted, note, body, type) => {
  expect(kind(body, type)).toEqual([wanted, note]);
});

test('a cut body is judged by its beginning', () => {
  expect(kind('{"a":[1,2,{"b":"unfini', 'application/json', true)).toEqual(['json']);
  expect(kind('{"a":1}\n{"a":2}\n{"a', '', true)).toEqual(['ndjson']);
  expect(kind('<a><b>tex', '', true)).toEqual(['xml']);
  expect(kind(Buffer.from('{"a":"ž').subarray(0, -1), '', true)).toEqual(['json']);
  expect(kind('{"a" "b', 'application/json', true)).toEqual(['text', 'Sent as application/json, but it is not JSON']);
});

test('a long body is judged by its beginning', () => {
  const long = `[${'1,'.repeat(600_000)}`;
  expect(kind(`${long}1]`, 'application/json')).toEqual(['json']);
  expect(kind(`${long} and what is no JSON`, 'application/json')).toEqual(['json']);
  expect(kind(`[x${long}`, 'application/json')[0]).toBe('text');
});

test('multipart has the boundary that the body uses', () => {
  const body = Buffer.from('\r\n--a b\r\nContent-Type: a/b\r\n\r\n\xff\r\n--a b--', 'latin1');
  expect(kindOf(body, 'multipart/form-data; boundary="a b"')).toEqual({ kind: 'multipart', boundary: 'a b' });
  expect(kindOf(body, 'multipart/form-data')).toEqual({ kind: 'multipart', boundary: 'a b' });
  expect(kindOf(body, 'multipart/form-data; boundary=other')).toEqual({ kind: 'multipart', boundary: 'a b' });
});

test('text comes along, and a long content type is cut in the note', () => {
  expect(kindOf(Buffer.from('\ufeff{}'), '')).toEqual({ kind: 'json', text: '\ufeff{}' });
  expect(kindOf(Buffer.from('{}'), `text/${'x'.repeat(9_000)}`).note?.length).toBeLessThan(120);
});

test('any bytes with any type have a kind, and cut JSON is JSON', () => {
  const types = fc.constantFrom(
    '',
    'application/json',
    'multipart/form-data; boundary=b',
    'text/xml',
    'image/png',
    'x',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.string().map((text) => Buffer.from(text)),
      ),
      types,
      fc.boolean(),
      (bytes, type, cut) => {
        expect(kindOf(bytes, type, cut).kind).toBeTypeOf('string');
      },
    ),
    { numRuns: 1_000 },
  );
  fc.assert(
    fc.property(fc.object(), fc.nat(), (value, at) => {
      const bytes = Buffer.from(JSON.stringify(value));
      expect(kindOf(bytes.subarray(0, 1 + (at % bytes.length)), '', true).kind).toBe('json');
    }),
    { numRuns: 1_000 },
  );
});
