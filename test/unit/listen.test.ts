import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LISTEN_MODULES } from '../../src/api/management/listen-file.ts';
import { reconnectDelay } from '../../src/listen/api.ts';
import { createEventParser, MAX_EVENT_LENGTH, type StreamEvent } from '../../src/listen/event-stream.ts';
import { forwardedHeaders, forwardedPath } from '../../src/listen/forwarded.ts';
import { readOptions } from '../../src/listen/options.ts';
import { brief, printable } from '../../src/listen/text.ts';

const TOKEN = { HOOKBAY_TOKEN: 'a.b.c' };
const read = (...args: string[]) => readOptions(['3000', '--endpoint', 'x', ...args], TOKEN);

describe('options', () => {
  test('a port is one of this machine, and an endpoint URL says where Hookbay is', () => {
    const url = 'https://hooks.example.com/base/h/my-alias/orders?x=1';
    const options = readOptions(['3000', '--endpoint', url], TOKEN);
    expect([options?.target.href, options?.api.href, options?.endpoint]).toEqual([
      'http://localhost:3000/',
      'https://hooks.example.com/base/',
      'my-alias',
    ]);
    expect(options).toMatchObject({ after: 'now', concurrency: 10, timeoutMs: 30_000, once: Infinity, json: false });
    expect(readOptions(['http://[::1]:8/in', '--endpoint', 'x', '--url', 'http://a/b'], TOKEN)).toMatchObject({
      target: new URL('http://[::1]:8/in'),
      api: new URL('http://a/b/'),
    });
    expect(readOptions(['1', '--endpoint', 'x'], { HOOKBAY_URL: 'http://c' })?.api.href).toBe('http://c/');
    expect(readOptions(['1', '--endpoint', 'x'], {})?.api.href).toBe('http://localhost:8080/');
    expect(readOptions(['--help'], {})).toBeUndefined();
  });

  test('filters are handed to the API as they are', () => {
    const options = read(
      '--method',
      'POST,PUT',
      '--path',
      '/a',
      '--q',
      'é&',
      '--header-filter',
      'A:b',
      '--json-filter',
      '$.a=1',
    );
    expect(options?.filter.toString()).toBe('method=POST%2CPUT&path=%2Fa&q=%C3%A9%26&header=A%3Ab&json=%24.a%3D1');
    expect(read('--header', 'X-A: b', '--header', 'Host:c')?.headers).toEqual(['X-A', 'b', 'Host', 'c']);
  });

  test.each([
    [['--after=-1'], '--after must be a whole number'],
    [['--after', 'then'], '--after must be a whole number'],
    [['--concurrency', '0'], '--concurrency must be a whole number from 1 to 100'],
    [['--timeout', '1.5'], '--timeout must be a whole number'],
    [['--once', '0'], '--once must be a whole number'],
    [['--header', 'no colon'], "--header must be like 'Name: value'"],
    [['--header', 'A: b\r\nC: d'], "--header must be like 'Name: value'"],
    [['--header', 'Content-Length: 1'], 'Content-Length is set as the request needs it'],
    [['--url', 'ftp://x'], '--url must be a port or a URL'],
    [['--url', 'http://u:p@x'], '--url must have no user, password, query or fragment'],
    [['--what'], "Unknown option '--what'"],
    [['4000'], 'Name one port or URL'],
    [['--endpoint', 'http://x/no/key'], '--endpoint must be an id or a URL with /h/ in it'],
    [['--endpoint', ''], '--endpoint must be an id or a URL'],
  ])('%j is refused: %s', (args, message) => {
    expect(() => read(...args)).toThrow(message);
  });

  test('a token comes from the option, the variable or a file that only its owner can read', () => {
    const home = mkdtempSync(join(tmpdir(), 'hookbay-home-'));
    const before = process.env['HOME'];
    process.env['HOME'] = home;
    onTestFinished(() => {
      if (before === undefined) delete process.env['HOME'];
      else process.env['HOME'] = before;
      rmSync(home, { recursive: true });
    });
    expect(read('--token', 'from.option')?.token()).toBe('from.option');
    expect(read()?.token()).toBe('a.b.c');
    const token = readOptions(['1', '--endpoint', 'x'], {})?.token;
    expect(token).toThrow('There is no token');
    const file = join(home, '.config/hookbay/token');
    mkdirSync(join(home, '.config/hookbay'), { recursive: true });
    writeFileSync(file, 'from.file\n', { mode: 0o600 });
    expect(token?.()).toBe('from.file');
    // Read again, because tokens expire.
    writeFileSync(file, 'renewed\n');
    expect(token?.()).toBe('renewed');
    for (const mode of [0o640, 0o604]) {
      chmodSync(file, mode);
      expect(token).toThrow(`Others may read ${file}: run chmod 600 on it`);
    }
    chmodSync(file, 0o600);
    writeFileSync(file, 'x y');
    expect(token).toThrow('There is no token');
    writeFileSync(file, 'x'.repeat(20_000));
    expect(token).toThrow('holds no token');
  });
});

describe('the events of a stream', () => {
  const TEXT = 'retry: 2000\n\n: ping\n\nid: 1\nevent: request\ndata: {"a":1}\n\nid: 2\r\n\r\ndata:x\ndata: y\n\n';
  const EVENTS: StreamEvent[] = [
    { id: '1', event: 'request', data: '{"a":1}' },
    { id: '2', event: '', data: '' },
    { id: '', event: '', data: 'x\ny' },
  ];

  test('are the same in any pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: TEXT.length }), { maxLength: 30 }), (cuts) => {
        const parse = createEventParser();
        const ends = [...cuts.toSorted((a, b) => a - b), TEXT.length];
        expect(ends.flatMap((end, i) => parse(TEXT.slice(ends[i - 1] ?? 0, end)))).toEqual(EVENTS);
      }),
    );
  });

  test('are bounded, as one line and as many', () => {
    const piece = 'x'.repeat(MAX_EVENT_LENGTH / 4);
    for (const text of [piece, `data: ${piece}\n`]) {
      const parse = createEventParser();
      expect(() => [1, 2, 3].map(() => parse(text))).not.toThrow();
      expect(() => [4, 5].map(() => parse(text))).toThrow('an event is too long');
    }
  });

  test('a long line in many pieces takes time in proportion to its length', () => {
    const parse = createEventParser();
    const start = performance.now();
    for (let i = 0; i < 200_000; i += 1) parse('0123456789');
    // Joined anew for each piece, it would be 200 GB that are copied.
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});

describe('what is forwarded', () => {
  test.each([
    ['/h/key', 'http://x/', '/'],
    ['/h/key?a=1', 'http://x/', '/?a=1'],
    ['/h/key/a/b%20c//?a=1&a=%ff', 'http://x/', '/a/b%20c//?a=1&a=%ff'],
    ['/h/key/a', 'http://x/in/', '/in/a'],
    ['/h/key', 'http://x/in', '/in'],
    ['/h/key/../../admin', 'http://x/in', '/in/../../admin'],
    ['/h/key/h/key', 'http://x/', '/h/key'],
  ])('%s goes to %s as %s', (captured, target, expected) => {
    expect(forwardedPath(captured, new URL(target), false)).toBe(expected);
  });

  test('with --keep-path the path is kept', () => {
    expect(forwardedPath('/h/key/a?b', new URL('http://x/in'), true)).toBe('/in/h/key/a?b');
  });

  const headersOf = (raw_headers: [string, string][], size = 0, method = 'POST', extra: string[] = []): string[] =>
    forwardedHeaders({ method, size, raw_headers }, 'local:1', extra);

  test('headers keep their order, case and number; those of the connection and of proxies are left out', () => {
    const captured: [string, string][] = [
      ['X-B', '1'],
      ['HOST', 'hooks.example.com'],
      ['Connection', 'close, X-Of-Connection'],
      ['x-of-connection', 'x'],
      ['x-b', ''],
      ['Transfer-Encoding', 'chunked'],
      ['Expect', '100-continue'],
      ['TE', 'trailers'],
      ['X-Forwarded-For', '1.2.3.4'],
      ['x-real-ip', '1.2.3.4'],
      ['Forwarded', 'for=1.2.3.4'],
      ['Authorization', 'Basic x'],
      ['Content-Encoding', 'gzip'],
      ['X-B', 'ÿ'],
    ];
    expect(headersOf(captured, 3)).toEqual([
      'X-B',
      '1',
      'HOST',
      'local:1',
      'x-b',
      '',
      'Authorization',
      'Basic x',
      'Content-Encoding',
      'gzip',
      'X-B',
      'ÿ',
      'Content-Length',
      '3',
    ]);
  });

  test('there is a length where Node would choose chunks, and none where the capture had none and needs none', () => {
    expect(headersOf([], 0, 'POST')).toEqual(['Host', 'local:1', 'Content-Length', '0']);
    expect(headersOf([], 0, 'GET')).toEqual(['Host', 'local:1']);
    expect(headersOf([['Content-Length', '0']], 0, 'GET')).toEqual(['Host', 'local:1', 'Content-Length', '0']);
    expect(headersOf([['content-length', '2']], 2, 'GET')).toEqual(['Host', 'local:1', 'content-length', '2']);
  });

  test('headers of the command line replace those of their name', () => {
    const captured: [string, string][] = [
      ['host', 'x'],
      ['X-A', '1'],
      ['x-a', '2'],
    ];
    expect(headersOf(captured, 0, 'GET', ['X-a', '3', 'X-a', '4', 'Host', 'app.test'])).toEqual([
      'X-a',
      '3',
      'X-a',
      '4',
      'Host',
      'app.test',
    ]);
  });
});

test('text of senders cannot control a terminal, and JSON keeps its meaning', () => {
  const hostile = '\u001b]0;title\u0007\r\n\u009b31m\u202eabc\u2066\u200b\u061c\u{e0001}\u2028\ufeff\u007f\ud800é😀';
  const shown = printable(hostile);
  expect(shown).toMatch(/^[\u0020-\u007eé😀]+$/u);
  expect(shown).toContain('\\u001b]0;title\\u0007\\u000d\\u000a\\u009b31m\\u202eabc');
  const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
  const unprintable = /[\p{C}\p{Zl}\p{Zp}]/u;
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const json = printable(JSON.stringify({ text }));
      expect(JSON.parse(json)).toEqual({ text });
      expect(unprintable.test(json)).toBe(false);
    }),
  );
  expect(brief('x'.repeat(300))).toBe(`${'x'.repeat(200)}…`);
});

test('attempts to connect again are spread out, up to ten seconds or what the server asks for', () => {
  expect([0, 1, 2, 3, 4, 5, 100].map((failures) => reconnectDelay(failures, 0, 0.5))).toEqual([
    0, 1_000, 2_000, 5_000, 10_000, 10_000, 10_000,
  ]);
  expect([reconnectDelay(1, 0, 0), Math.round(reconnectDelay(1, 0, 1)), reconnectDelay(0, 30_000, 0.5)]).toEqual([
    800, 1_200, 30_000,
  ]);
});

test('the single file has every module of src/listen', () => {
  const modules = readdirSync('src/listen').filter((name) => name.endsWith('.ts'));
  expect(LISTEN_MODULES.map((name) => `${name}.ts`).toSorted()).toEqual(modules.toSorted());
});
