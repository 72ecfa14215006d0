import { describe, expect, test } from 'vitest';
import { exportText } from '../../src/api/management/export-text.ts';
import type { Step } from '../../src/api/management/export-entries.ts';
import type { StoredRequest } from '../../src/domain/captured-request.ts';
import { cellEscape, csvRow } from '../../src/domain/export/csv.ts';
import { FORMATS, formatOf, type ExportFormat } from '../../src/domain/export/format.ts';
import { makeCapture } from '../support/captures.ts';
import { harErrors, readCsv, readNdjson } from '../support/exports.ts';

const ENDPOINT = 'acc193a8-b73b-4634-9b57-1cc0db59b830';

function stored(seq: number, fields: Parameters<typeof makeCapture>[1] = {}): StoredRequest {
  const capture = makeCapture(ENDPOINT, fields);
  return { ...capture, seq, size: capture.body.length };
}

/* oxlint-disable-next-line eslint/require-await -- as the database's */
async function* stepsOf(requests: StoredRequest[]): AsyncGenerator<Step> {
  for (const request of requests) yield { seq: request.seq, request };
}

async function textOf(
  format: ExportFormat,
  steps: AsyncIterable<Step>,
  { after = 0, upTo = 1_000_000, mayGoOn = (): boolean => true } = {},
): Promise<string> {
  let text = '';
  for await (const chunk of exportText(format, steps, { after, upTo, mayGoOn })) text += chunk;
  return text;
}

describe('CSV cells', () => {
  const escape = (...pieces: string[]): string => {
    const next = cellEscape();
    return pieces.map(next).join('');
  };

  test.each([
    '=1+1',
    '+1',
    '-1',
    '@SUM(1)',
    '\t=1',
    '\r=1',
    '\t',
    '\rx',
    '\n=x',
    '＝1',
    '＋1',
    '－1',
    '＠x',
    ' =1',
    '"=1',
  ])('a cell %j cannot be a formula', (text) => {
    // As a whole, and cut anywhere.
    for (let at = 0; at <= text.length; at += 1) {
      const escaped = escape(text.slice(0, at), text.slice(at));
      expect(escaped).toMatch(/^["\s]*'/);
      expect(escaped).toBe(escape(text));
      expect(escaped).not.toMatch(/(^|[;\t\r\n])["\s]*[=+\-@＝＋－＠]/);
    }
  });

  test.each([';=1', 'a;"=1', 'a;" "@x', 'a\n=1', 'a\r\n-1', 'a\t+1', 'a;b;\n=1', `x;${' '.repeat(50)}=1`])(
    'nor can a part of %j, where a spreadsheet separates cells in another way',
    (text) => {
      for (let at = 0; at <= text.length; at += 1) {
        expect(escape(text.slice(0, at), text.slice(at))).toBe(escape(text));
      }
      expect(escape(text)).not.toMatch(/(^|[;\t\r\n])[" ]*[=+\-@]/);
    },
  );

  test.each(['', 'a', 'a=1', 'a;q=0.9', '2026-11-22', '{"a":-1}', 'a -1', "it's", 'x,y', 'a@b.c'])(
    '%j stays',
    (text) => {
      expect(readCsv(`"${escape(text)}"\r\n`)).toEqual([[text]]);
    },
  );

  test('the search takes time in proportion to the text', () => {
    const timeOf = (length: number): number => {
      const text = [' ', '\n', ';', '"', '; ', ';"'].map((part) => part.repeat(length / part.length)).join('x');
      const began = performance.now();
      for (let start = 0, next = cellEscape(); start < text.length; start += 49_152)
        next(text.slice(start, start + 49_152));
      return performance.now() - began;
    };
    timeOf(100_000);
    // By the square it would be 100 times.
    expect(timeOf(1_000_000) / timeOf(100_000)).toBeLessThan(50);
  });
});

test.each(FORMATS)('a large body in %s is made in short pieces, and other work runs in between', async (name) => {
  const body = Buffer.alloc(25 * 1024 * 1024, 1);
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  let longest = 0;
  const range = { after: 0, upTo: 1, mayGoOn: () => true };
  for await (const chunk of exportText(formatOf(name, 'http://x'), stepsOf([stored(1, { body })]), range))
    longest = Math.max(longest, chunk.length);
  clearInterval(counting);
  // A piece of 48 KiB, each byte as an escape sequence of six.
  expect(longest).toBeLessThan(512 * 1024);
  expect(turns).toBeGreaterThan(0);
});

test('a CSV row holds what was captured, and binary bodies as Base64', () => {
  const rawHeaders = ['Content-Type', '=x', '-evil', 'é', 'a', '1'];
  const row = (fields: Parameters<typeof makeCapture>[1]): string[] =>
    readCsv([...csvRow(stored(7, { target: '/h/x?a=1&=2', rawHeaders, ...fields }))].join(''))[0] ?? [];
  const [seq, , , method, path, query, ip, contentType, size, headers, encoding, body] = row({
    body: Buffer.from('a "b"\r\nc,d'),
  });
  expect([seq, method, path, query, ip, contentType, size]).toEqual([
    '7',
    'POST',
    '/h/x',
    'a=1&=2',
    '127.0.0.1',
    "'=x",
    '10',
  ]);
  expect([headers, encoding, body]).toEqual(["Content-Type: =x\n'-evil: é\na: 1\n", 'utf8', 'a "b"\r\nc,d']);
  expect(row({ body: Buffer.from([0xff, 0]), isUtf8: false }).slice(-2)).toEqual(['base64', '/wA=']);
  expect(row({ body: Buffer.from('='.repeat(100_000)) }).at(-1)).toBe(`'${'='.repeat(100_000)}`);
});

describe('the end of a file', () => {
  const requests = [1, 2, 5].map((seq) => stored(seq));

  test('says how far it came, in each format', async () => {
    const [ndjson, har, csv] = await Promise.all(
      (['ndjson', 'har', 'csv'] as const).map((name) =>
        textOf(formatOf(name, 'http://x'), stepsOf(requests), { upTo: 5 }),
      ),
    );
    expect(readNdjson(Buffer.from(ndjson ?? '')).end).toEqual({ end: true, count: 3, next: 5, more: false });
    const { log } = JSON.parse(har ?? '') as { log: Record<string, unknown> & { entries: unknown[] } };
    expect([log.entries.length, log['_count'], log['_next'], log['_more']]).toEqual([3, 3, 5, false]);
    const rows = readCsv(csv ?? '');
    expect(rows.map(({ length }) => length)).toEqual([12, 12, 12, 12, 12]);
    expect(rows.at(-1)?.slice(0, 5)).toEqual(['end', 'count=3', 'next=5', 'more=false', '']);
  });

  test.each(FORMATS)('an empty export in %s has a start and an end, too', async (name) => {
    const text = await textOf(formatOf(name, 'http://x'), stepsOf([]), { after: 4, upTo: 4 });
    if (name === 'ndjson') expect(text).toBe('{"end":true,"count":0,"next":4,"more":false}\n');
    if (name === 'csv') expect(readCsv(text).map(([first]) => first)).toEqual(['seq', 'end']);
    if (name === 'har') expect(harErrors(JSON.parse(text))).toBeNull();
  });

  test.each(FORMATS)('%s is cut after its number of entries, and says so', async (name) => {
    const format = { ...formatOf(name, 'http://x'), maxEntries: 2 };
    const text = await textOf(format, stepsOf(requests), { upTo: 5 });
    expect(text).toMatch(/"next":2,"more":true|"_next":2,"_more":true|"next=2","more=true"/);
    if (name === 'har')
      expect(JSON.parse(text)).toMatchObject({ log: { comment: expect.stringContaining('after=2') } });
  });

  test.each(FORMATS)('%s is cut after its number of bytes; a large entry alone is complete', async (name) => {
    const large = [1, 2, 3].map((seq) => stored(seq, { body: Buffer.alloc(3_000, 'x') }));
    const format = { ...formatOf(name, 'http://x'), maxBytes: 2_000 };
    const first = await textOf(format, stepsOf(large), { upTo: 3 });
    expect(first).toMatch(/"next":1,"more":true|"_next":1,"_more":true|"next=1","more=true"/);
    expect(first).toContain('x'.repeat(3_000));
  });

  test('limits: 100,000 entries, in HAR 10,000 or 64 MiB [Export: limits]', () => {
    expect(FORMATS.map((name) => formatOf(name, '').maxEntries)).toEqual([100_000, 10_000, 100_000]);
    expect(formatOf('har', '').maxBytes).toBe(64 * 1024 * 1024);
  });

  test('an export that may not go on ends after its entry', async () => {
    let asked = 0;
    const text = await textOf(formatOf('ndjson', ''), stepsOf(requests), { upTo: 5, mayGoOn: () => (asked += 1) < 2 });
    expect(readNdjson(Buffer.from(text)).end).toEqual({ end: true, count: 2, next: 2, more: true });
  });

  test.each(FORMATS)('%s without its end is not whole', async (name) => {
    async function* broken(): AsyncGenerator<Step> {
      yield* stepsOf(requests);
      throw new Error('lost');
    }
    await expect(textOf(formatOf(name, 'http://x'), broken())).rejects.toThrow('lost');
  });
});
