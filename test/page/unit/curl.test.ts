import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { LogEntry } from '../../../src/domain/answers.ts';
import { listen } from '../../../src/ops/listen.ts';
import { bashWord } from '../../../src/page/content/bash.ts';
import { curlCommand } from '../../../src/page/content/curl.ts';
import { httpMessage } from '../../../src/page/content/http-message.ts';
import { headersOf } from '../../../src/page/content/message.ts';
import { startRecorder, type Recorded } from '../../support/recorder.ts';
import { entryOf, type Sent } from './entries.ts';

/** Runs a command in an empty folder, read from standard input as if it were typed, with history on. */
async function run(command: string): Promise<{ code: number; errors: string; files: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'hookbay-page-curl-'));
  try {
    const env = { PATH: process.env['PATH'], HOME: folder, TOKEN: 'the-token' };
    const shell = spawn('bash', [], { cwd: folder, env, stdio: ['pipe', 'ignore', 'pipe'] });
    const errors: Buffer[] = [];
    shell.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    shell.stdin.end(`unset HISTFILE\nset -o history -o histexpand\ntrue secret history\n${command}\nexit $?\n`);
    const [code] = (await once(shell, 'close')) as [number];
    return { code, errors: Buffer.concat(errors).toString(), files: readdirSync(folder) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const DROPPED = /^(host|content-length|connection|transfer-encoding|keep-alive|x-forwarded-.*)$/i;

function comparable({ method, target, rawHeaders, body }: Recorded): unknown {
  const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? '']] : []));
  return {
    method,
    target,
    headers: pairs.filter(([name]) => !DROPPED.test(name ?? '')),
    body: body.toString('latin1'),
  };
}

async function send(entry: LogEntry, apiUrl = 'http://127.0.0.1:9'): Promise<Recorded[]> {
  const { url, recorded } = await startRecorder();
  const command = curlCommand(entry, { baseUrl: url, apiUrl });
  expect(command).toMatch(/^[ -~\n]*$/);
  const result = await run(command);
  // bash repeats a line to standard error only where it expanded history.
  expect([command, result]).toEqual([command, { code: 0, errors: '', files: [] }]);
  return recorded;
}

/** Expects that the command sends exactly what was captured, and does nothing else. */
async function expectSame(sent: Sent): Promise<void> {
  const entry = entryOf(sent);
  const recorded = await send(entry);
  const { method, target = '' } = entry;
  const wanted = { method, target, rawHeaders: headersOf(entry).flat(), body: Buffer.from(sent.body ?? '') };
  expect(recorded.map(comparable)).toEqual([comparable(wanted)]);
}

const BODIES = {
  quote: "it's",
  file: '@/etc/passwd',
  substitution: '$(id > owned)',
  backticks: '`id > owned`',
  newline: 'a\nb\r\n\tc\n',
  escape: '\x1b[31mred\x1b[201~',
  emoji: '🐴 žluťoučký',
  history: '!true and it\'s !! "!?secret?"',
  'history in quotes': "'!true'",
  'plain history': '!true !!',
  backslashes: String.raw`\n \x41 \' \\`,
  'hex digits behind a byte': 'ébad\x07face',
  json: '{"a":"it\'s","b":[1,2]}',
  percent: '%s%n&x=;|<>#~*?[a]{b,c}',
  dashes: '-X DELETE --data',
  binary: Uint8Array.from({ length: 255 }, (_, i) => i + 1),
};

test.each(Object.entries(BODIES))('a body with %s comes back byte for byte', async (_, body) => {
  await expectSame({ body, headers: [['Content-Type', 'text/plain']] });
});

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'POST'])('%s without a body', async (method) => {
  await expectSame({ method, target: '/h/x/y?a=1' });
});

test('a body of no bytes has its length, and HEAD may have a body', async () => {
  await expectSame({ headers: [['Content-Length', '0']] });
  const recorded = startRecorder();
  const { url, recorded: requests } = await recorded;
  const command = curlCommand(entryOf({ method: 'HEAD', body: 'x', headers: [['Content-Length', '1']] }), {
    baseUrl: url,
    apiUrl: url,
  });
  await run(command);
  expect(requests.map(({ method, body }) => [method, body.toString()])).toEqual([['HEAD', 'x']]);
});

test.each([
  "/h/x/it's?a=$(id)&b=`id`&c=!true",
  '/h/x/../../etc/./passwd?x=../y',
  '/h/x/[1-3]{a,b}?q[]=1&q[]=2',
  '/h/x?a=1#fragment',
  '/h/x//double?&&=&a',
  '//h/x',
  '/h/x?"<>\\^`{|}',
  '/h/x/%00%2e%2e%zz',
  '/',
])('the target %j', async (target) => {
  await expectSame({ method: 'GET', target });
});

test('an absolute target', async () => {
  await expectSame({ method: 'GET', target: 'http://other.example/h/x?a=1' });
});

test('headers: hostile, repeated, empty, and none that curl adds', async () => {
  await expectSame({
    headers: [
      ['X-Quote', `it's "quoted" $(id > owned) \`id\` !true \\`],
      ['X-Twice', '1'],
      ['x-twice', '2'],
      ['X-Empty', ''],
      ['X-Bytes', '\xc5\xbe\xff\x80'],
      ['X-At', '@/etc/passwd'],
      ["X-!#$%&'*+.^_`|~", 'every token character'],
      ['X-Semicolon', ';'],
      ['X-Colon', ': :'],
      ['X-Tab', 'a\tb'],
    ],
    body: 'x',
  });
  await expectSame({
    headers: [
      ['accept', 'application/json'],
      ['User-Agent', 'GitHub-Hookshot/044aadd'],
      ['content-type', 'application/json'],
    ],
    body: '{}',
  });
});

test('headers of the connection and of proxies stay out', async () => {
  const entry = entryOf({
    method: 'GET',
    headers: [
      ['Host', 'hooks.example.com'],
      ['Connection', 'close, X-Hop'],
      ['X-Hop', '1'],
      ['TE', 'trailers'],
      ['X-Forwarded-For', '10.0.0.1'],
      ['x-forwarded-proto', 'https'],
      ['Forwarded', 'for=10.0.0.1'],
      ['X-Real-IP', '10.0.0.1'],
      ['X-Own', '1'],
    ],
  });
  const [recorded] = await send(entry);
  expect(recorded?.rawHeaders.filter((_, i) => i % 2 === 0)).toEqual(['Host', 'X-Own']);
  expect(recorded?.rawHeaders[1]).toMatch(/^127\.0\.0\.1:/);
});

test.each([
  ['a NUL', Buffer.from('a\0b')],
  ['200 KB', Buffer.alloc(200_000, 'x')],
  ['50 KB of bytes that are four characters each', Buffer.alloc(50_000, 0xff)],
])('a body with %s is read from the API, in a pipe', async (_, body) => {
  const asked: unknown[] = [];
  const api = createServer(({ url, headers }, res) => {
    asked.push([url, headers.authorization]);
    res.end(body);
  });
  const port = await listen(api, '127.0.0.1', 0);
  onTestFinished(() => void api.close());
  const entry = entryOf({ method: 'PUT', body, headers: [['Content-Type', 'a/b']] });
  const [recorded] = await send(entry, `http://127.0.0.1:${port}`);
  expect(asked).toEqual([[`/api/requests/${entry.id}/body`, 'Bearer the-token']]);
  expect([recorded?.method, recorded?.body.equals(body)]).toEqual(['PUT', true]);
});

test('a cut body is never an argument', () => {
  const entry: LogEntry = { ...entryOf({ body: 'begin' }), body_truncated: true, size: 500_000 };
  expect(curlCommand(entry, { baseUrl: 'http://x', apiUrl: 'http://x' })).toMatch(/\/body' -H .*\|\ncurl .*@-$/s);
  expect(httpMessage(entry)).toBeUndefined();
});

test('an entry of a list, without its raw form, is rebuilt', async () => {
  const { target: _, raw_headers: __, ...entry } = entryOf({ target: '/h/x?a=1%202&b', headers: [['X-A', '1']] });
  const [recorded] = await send(entry);
  expect([recorded?.target, recorded?.rawHeaders.slice(2)]).toEqual(['/h/x?a=1%202&b=', ['x-a', '1']]);
});

test('words have nothing that bash could read as history', () => {
  expect(["it's", 'a!', "it's!", '!\n'].map(bashWord)).toEqual([
    String.raw`'it'\''s'`,
    "'a!'",
    String.raw`$'it\x27s\x21'`,
    String.raw`$'\x21\x0a'`,
  ]);
});

test('any bytes come back in body and headers', async () => {
  const byte = fc.integer({ min: 1, max: 255 });
  const value = fc.array(
    fc.integer({ min: 0x21, max: 255 }).filter((code) => code !== 127),
    { minLength: 1, maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(byte, { maxLength: 200 }), value, async (body, header) => {
      await expectSame({
        body: Uint8Array.from(body),
        headers: [
          ['X-Any', String.fromCharCode(...header)],
          ['Content-Length', '0'],
        ],
      });
    }),
    { numRuns: 25 },
  );
});

test('the message is as it was sent, its bytes as UTF-8', () => {
  const entry = entryOf({
    target: '/h/x?\xc5\xbe',
    headers: [
      ['X-A', '\xc5\xbe'],
      ['x-a', '\xff'],
    ],
    body: 'it’s',
  });
  expect(httpMessage(entry)).toBe('POST /h/x?ž HTTP/1.1\r\nX-A: ž\r\nx-a: ÿ\r\n\r\nit’s');
  expect(httpMessage(entryOf({ body: Uint8Array.of(0xff) }))).toBeUndefined();
});
