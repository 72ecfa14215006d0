import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBatch, encodeBatch, encodedSize } from '../../src/domain/capture-job.ts';
import { headersFrom, presentRequest, queryFrom } from '../../src/domain/log-entry.ts';
import { type StoredRequest } from '../../src/domain/captured-request.ts';
import { aliasProblem, isAliasShaped } from '../../src/domain/alias.ts';
import {
  bytesToId,
  firstIdAt,
  idToBytes,
  isUuid,
  newEndpointId,
  newTimeOrderedId,
  timeOfId,
} from '../../src/domain/ids.ts';
import { makeCapture } from '../support/captures.ts';

describe('ids', () => {
  test('capture ids only increase within a process, and contain their time', () => {
    const before = Date.now();
    const ids = Array.from({ length: 20_000 }, newTimeOrderedId);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(timeOfId(ids[0] as string)).toBeGreaterThanOrEqual(before);
    expect(ids.every((id) => isUuid(id) && id[14] === '7')).toBe(true);
    expect(newEndpointId()[14]).toBe('4');
  });

  test('bytes and text are the same id', () => {
    fc.assert(fc.property(fc.uuid(), (id) => bytesToId(idToBytes(id)) === id));
    expect(firstIdAt(1_795_214_003_312)).toBe('01a1fb17-cc70-7000-8000-000000000000');
    expect(timeOfId(firstIdAt(1_795_214_003_312))).toBe(1_795_214_003_312);
  });
});

describe('capture batch', () => {
  test('is the same after JSON, for any bytes', () => {
    const anyCapture = fc.record({
      body: fc
        .oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
        )
        .map((bytes) => Buffer.from(bytes)),
      rawHeaders: fc.array(fc.string({ unit: 'binary' })),
      target: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(anyCapture, { maxLength: 5 }), (list) => {
        const captures = list.map((fields) => makeCapture(newEndpointId(), fields));
        const decoded = decodeBatch(JSON.parse(JSON.stringify(encodeBatch('2026-03-01', captures))));
        // Decoding determines whether a body is text.
        const withoutFlag = (capture: object): object => ({ ...capture, isUtf8: undefined });
        expect(decoded.map(withoutFlag)).toEqual(captures.map(withoutFlag));
      }),
    );
  });

  test('a job from a later version is refused', () => {
    expect(() => decodeBatch({ v: 3, captures: [] } as never)).toThrow(/version 3/);
  });

  test('the size estimate is not far below the JSON', () => {
    for (const body of [Buffer.alloc(0), Buffer.alloc(100_000, 0xff), Buffer.from('{"a":1}'.repeat(1_000))]) {
      const capture = makeCapture(newEndpointId(), { body });
      expect(encodedSize(capture)).toBeGreaterThan(JSON.stringify(encodeBatch('2026-03-01', [capture])).length * 0.8);
    }
  });
});

describe('headers and query', () => {
  test('any name is an own property of a plain result', () => {
    const headers = headersFrom([
      '__proto__',
      'a',
      'Constructor',
      'b',
      '__PROTO__',
      'c',
      'Cookie',
      'x=1',
      'cookie',
      'y=2',
    ]);
    expect(Object.entries(headers)).toEqual([
      ['__proto__', 'a, c'],
      ['constructor', 'b'],
      ['cookie', 'x=1; y=2'],
    ]);
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });

  test.each([
    ['', {}],
    ['a', { a: '' }],
    ['a=', { a: '' }],
    ['=b', { '': 'b' }],
    ['a=1&a=2&b=3', { a: ['1', '2'], b: '3' }],
    ['a=1&&b=2&', { a: '1', b: '2' }],
    ['a=b=c', { a: 'b=c' }],
    ['a+b=c+d', { 'a b': 'c d' }],
    ['a=%zz&b=%ff&c=%20', { a: '%zz', b: '%ff', c: ' ' }],
    ['a[]=1&a[]=2', { 'a[]': ['1', '2'] }],
    ['a=?b', { a: '?b' }],
  ])('?%s', (query, expected) => {
    expect(queryFrom(query)).toEqual(expected);
  });
});

describe('a body that is cut', () => {
  const row = (body: Buffer, size: number): StoredRequest => ({
    id: newTimeOrderedId(),
    endpointId: newEndpointId(),
    seq: 1,
    method: 'POST',
    target: '/h/x',
    rawHeaders: [],
    ip: '',
    size,
    isUtf8: true,
    body,
  });
  test('ends at a character, and loses no complete one', () => {
    for (const character of ['a', 'é', '€', '😀']) {
      const text = Buffer.from(`x${character.repeat(10)}`);
      for (let cut = 1; cut < text.length; cut += 1) {
        const { body } = presentRequest(row(text.subarray(0, cut), text.length));
        expect(body).toBe(`x${character.repeat(Math.floor((cut - 1) / Buffer.byteLength(character)))}`);
      }
    }
  });
});

describe('aliases', () => {
  test.each(['abc', 'a-b', '123', 'a--b', 'x'.repeat(48)])('%s is fine', (alias) => {
    expect(aliasProblem(alias)).toBeUndefined();
    expect(isAliasShaped(alias)).toBe(true);
  });
  test('others are refused with the reason', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        (text) => (aliasProblem(text) === undefined) <= isAliasShaped(text),
      ),
    );
    expect(aliasProblem('api')).toMatch(/reserved/);
    expect(aliasProblem('x'.repeat(100_000))).toMatch(/3 to 48/);
  });
});
