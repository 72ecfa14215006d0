import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Bytes } from '../../../src/page/content/bytes.ts';
import { formFields } from '../../../src/page/content/fields.ts';
import { MAX_PARTS, multipartParts } from '../../../src/page/content/multipart.ts';
import { ndjsonRecords } from '../../../src/page/content/ndjson.ts';

function bytesOf(text: string | Uint8Array): Bytes {
  return new Uint8Array(Buffer.from(text));
}

function shown(text: string, boundary = 'b'): unknown[] {
  return multipartParts(bytesOf(text), boundary).map(({ bytes, ...part }) => ({
    ...part,
    text: Buffer.from(bytes).toString(),
  }));
}

test('what FormData sends comes back, names and bytes', async () => {
  const name = fc.string({ maxLength: 20 }).filter((text) => !/[\r\n"]/.test(text));
  const part = fc.record({
    name,
    filename: fc.option(name.filter((text) => text !== '')),
    bytes: fc.uint8Array({ maxLength: 300 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
      const form = new FormData();
      for (const { name, filename, bytes } of parts)
        if (filename === null) form.append(name, 'a\r\n--b');
        else form.append(name, new Blob([bytesOf(bytes)], { type: 'a/b' }), filename);
      const request = new Request('http://x', { method: 'POST', body: form });
      const boundary = /boundary=(.*)$/.exec(request.headers.get('content-type') ?? '')?.[1] ?? '';
      const found = multipartParts(new Uint8Array(await request.arrayBuffer()), boundary);
      expect(found.map(({ name, filename, contentType, bytes }) => [name, filename, contentType, [...bytes]])).toEqual(
        parts.map(({ name, filename, bytes }) =>
          filename === null
            ? [name, undefined, undefined, [...Buffer.from('a\r\n--b')]]
            : [name, filename, 'a/b', [...bytes]],
        ),
      );
    }),
  );
});

test('preamble, epilogue, space behind a delimiter and LF alone are fine', () => {
  const wanted = [
    { headers: [['A', '1']], text: 'one\n--bx\n --b' },
    { headers: [], text: '' },
  ];
  const text = 'preamble --b\n--b \t\nA: 1\n\none\n--bx\n --b\n--b\n\n\n--b--\nepilogue\n--b\n\nno part\n--b--';
  expect(shown(text)).toEqual(wanted);
  expect(shown(text.replaceAll('\n', '\r\n'))).toEqual([{ ...wanted[0], text: 'one\r\n--bx\r\n --b' }, wanted[1]]);
});

test('names may be quoted, escaped, bare or extended', () => {
  const part = (disposition: string): unknown => shown(`--b\nContent-Disposition: ${disposition}\n\nx\n--b--`)[0];
  expect(part(String.raw`form-data; name="a\"b\c"; filename="C:\dir\ž.txt"`)).toMatchObject({
    name: String.raw`a"b\c`,
    filename: String.raw`C:\dir\ž.txt`,
  });
  expect(part(`form-data; NAME=a; filename=x.txt; filename*=UTF-8''na%C3%AFve%20%22.txt`)).toMatchObject({
    name: 'a',
    filename: 'naïve ".txt',
  });
  expect(part(`form-data; filename*=ISO-8859-1'en'%A3; name="a;b=c"`)).toMatchObject({ name: 'a;b=c', filename: '£' });
  expect(part(`form-data; filename*=UTF-8''%ff%zz`)).toMatchObject({ filename: `UTF-8''%ff%zz` });
  expect(part('form-data;\r\n name="folded"')).toMatchObject({ name: 'folded' });
  expect(part('form-data; __proto__="x"; name="constructor"')).toMatchObject({ name: 'constructor' });
  expect(part('form-data; name="open')).toMatchObject({ name: 'open' });
});

test('a body that ends early has an unfinished part', () => {
  expect(shown('--b\r\nA: 1\r\n\r\ncut of')).toEqual([{ headers: [['A', '1']], text: 'cut of', unfinished: true }]);
  expect(shown('--b\r\nContent-Dispo')).toEqual([{ headers: [], text: '', unfinished: true }]);
  expect(shown('--b\r\n')).toEqual([{ headers: [], text: '', unfinished: true }]);
  for (const text of ['', 'x', '--', '--c\r\n\r\n', '--b--', 'x--b\n\n']) expect(shown(text)).toEqual([]);
});

test('parts and header bytes are bounded, and time grows with the body', () => {
  expect(shown('--b\n\nx\n'.repeat(1_000))).toHaveLength(MAX_PARTS);
  const [part] = multipartParts(bytesOf(`--b\n${'A: 1\n'.repeat(10_000)}\nx`), 'b');
  expect(part?.headers.length).toBeLessThan(4_000);
  const timeOf = (n: number, unit: string): number => {
    const bytes = bytesOf(`--${'-'.repeat(70)}\n\n${unit.repeat(n)}`);
    const start = performance.now();
    multipartParts(bytes, '-'.repeat(70));
    return performance.now() - start;
  };
  for (const unit of ['\n', '-', '\n-', `\n${'-'.repeat(71)}`, ' \r\n;=']) {
    timeOf(5_000, unit);
    const [small, large] = [5_000, 160_000].map((n) => Math.min(timeOf(n, unit), timeOf(n, unit), timeOf(n, unit)));
    expect((large ?? 0) / Math.max(small ?? 0, 0.2)).toBeLessThan(300);
  }
});

test('parameters take no time that grows with its square', () => {
  const timeOf = (n: number, unit: string): number => {
    const bytes = bytesOf(`--b\nContent-Disposition: x${unit.repeat(n)}\n\nx`);
    const start = performance.now();
    multipartParts(bytes, 'b');
    return performance.now() - start;
  };
  for (const unit of ['; a="', '; a="\\', ';a', '; ', '; a=\t', ';a*=', "'"])
    expect(timeOf(3_000, unit)).toBeLessThan(1_000);
});

test('form fields are decoded, and faults stay as sent', () => {
  expect(formFields('a=1&b=x+y%20z&a=%C5%BE&&c&=d&e=f=g&bad=%zz+%ff&__proto__=1')).toEqual([
    ['a', '1'],
    ['b', 'x y z'],
    ['a', 'ž'],
    ['c', ''],
    ['', 'd'],
    ['e', 'f=g'],
    ['bad', '%zz+%ff'],
    ['__proto__', '1'],
  ]);
  expect(formFields('a=1&'.repeat(5_000))).toHaveLength(1_000);
  expect(formFields('')).toEqual([]);
});

test('form fields are those of the standard', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ unit: 'grapheme' }))),
      (pairs) => {
        expect(formFields(new URLSearchParams(pairs).toString())).toEqual(pairs);
      },
    ),
  );
});

test('records are the lines that are not blank', () => {
  expect(ndjsonRecords('{"a":1}\r\n\n [2]\n')).toEqual([
    { text: '{"a":1}', line: 1 },
    { text: '[2]', line: 3 },
  ]);
  expect(ndjsonRecords('1\n'.repeat(5_000))).toHaveLength(1_000);
});

test('a body of tiny lines is not gone through line by line, in which each costs a call', () => {
  const body = new TextEncoder().encode(`--X\r\n\r\n${'\n'.repeat(4 * 1024 * 1024)}`);
  const cpuMs = (work: () => void): number => {
    const used = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    });
    return Math.min(...used);
  };
  const lineByLine = cpuMs(() => {
    for (let at = 0; at !== -1; at = body.indexOf(0x0a, at + 1));
  });
  expect(cpuMs(() => multipartParts(body, 'X')) / lineByLine).toBeLessThan(0.6);
});
