import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isUtf8 } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import type { StoredRequest } from '../../src/domain/captured-request.ts';
import { curlCommand } from '../../src/domain/export/curl.ts';
import { httpMessage } from '../../src/domain/export/http-message.ts';
import { headerPairs } from '../../src/domain/header-lines.ts';
import { makeCapture } from '../support/captures.ts';
import { closing, eventually } from '../support/environment.ts';
import { startRecorder, type Recorded } from '../support/recorder.ts';

/** `sh` is the system's own shell, dash on Debian. */
const SHELLS = ['sh', 'bash'];

interface Fields {
  method?: string;
  target?: string;
  rawHeaders?: string[];
  body?: Buffer | string;
}

function captured({ method = 'POST', target = '/h/x', rawHeaders = [], body = '' }: Fields): StoredRequest {
  const bytes = Buffer.from(body);
  const length = bytes.length > 0 && !rawHeaders.some((name) => /^(content-length|transfer-encoding)$/i.test(name));
  const headers = [
    'Host',
    'hooks.example.com',
    ...rawHeaders,
    ...(length ? ['Content-Length', `${bytes.length}`] : []),
  ];
  const capture = makeCapture('acc193a8-b73b-4634-9b57-1cc0db59b830', { method, target, rawHeaders: headers });
  return { ...capture, seq: 1, body: bytes, size: bytes.length, isUtf8: isUtf8(bytes) };
}

/** Runs a printed command in a folder of its own; returns what it leaves there and what it prints. */
async function run(shell: string, command: string): Promise<{ code: number; output: string }> {
  const folder = closing(mkdtempSync(join(tmpdir(), 'hookbay-curl-')), (path) => rmSync(path, { recursive: true }));
  const script = join(folder, 'command.sh');
  writeFileSync(script, command);
  const env = { PATH: process.env['PATH'], HOME: folder, LC_ALL: 'C.UTF-8' };
  const child = spawn(shell, [script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // curl's progress, which it shows when its output is no terminal.
  const errors: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) output += Buffer.concat(errors).toString();
  return { code, output };
}

/** Header lines in order; `Host` first and the length last, where curl and the message have no choice. */
function comparable({ method, target, rawHeaders, body }: StoredRequest | Recorded): unknown {
  const pairs = headerPairs(rawHeaders).map(([name, value]) =>
    /^host$/i.test(name) ? ['Host', value] : [name, value],
  );
  const isOrdered = ([name]: string[]): boolean => !/^(host|content-length)$/i.test(name ?? '');
  return {
    method,
    target,
    ordered: pairs.filter(isOrdered),
    others: pairs.filter((pair) => !isOrdered(pair)),
    body: body.toString('latin1'),
  };
}

/** Expects that the printed command of each shell sends exactly what was captured, and does nothing else. */
async function expectSame(fields: Fields): Promise<void> {
  const request = captured(fields);
  const { url, recorded } = await startRecorder();
  const command = [...curlCommand(request, url)].join('');
  expect(command).toMatch(/^[ -~\n]*$/);
  for (const shell of SHELLS)
    expect([shell, await run(shell, command)]).toEqual([shell, { code: 0, output: expect.any(String) }]);
  expect(recorded.map(comparable)).toEqual(SHELLS.map(() => comparable(request)));
}

const HOSTILE = [
  "'; touch pwned; echo '",
  '$(touch pwned) `touch pwned` ${HOME} !! !-1',
  '@/etc/passwd',
  '-d@/etc/passwd',
  '--help',
  '"; touch pwned #',
  '\\',
  "\\'",
  '%s%n%d %%',
  '\\n\\033[31m',
  'a\nb\r\n\tc\n',
  '\n',
  ' ',
  '\u0000\u0001\u001b]0;title\u0007',
  '-\u0000',
  'é€😀\u2028\u202e',
  '{"a": [1, -2],\n  "b": "it\'s"}\n',
  "'".repeat(1_000),
];

describe('the printed curl command', () => {
  test.each(HOSTILE.map((body) => [JSON.stringify(body).slice(0, 40), body]))(
    'sends the body %s',
    async (_name, body) => {
      await expectSame({ body, rawHeaders: ['Content-Type', 'text/plain'] });
    },
  );

  test('sends bytes that are no text, any byte, and bodies that are too long for an argument', async () => {
    await expectSame({ body: Buffer.from([0xff, 0xfe, 0, 0x27]) });
    await expectSame({ body: Buffer.from(Array.from({ length: 256 }, (_, i) => i)) });
    await expectSame({ body: Buffer.from(Array.from({ length: 128 }, (_, i) => i)) });
    await expectSame({ body: "it's ".repeat(13_000) });
    await expectSame({ body: "it's ".repeat(14_000) });
    await expectSame({ body: Buffer.alloc(3 * 1024 * 1024, "é'\n") });
  });

  test('sends header values of any kind, in order, repeated and empty', async () => {
    // What a parser lets through: no control characters but TAB, no spaces around a value.
    const values = HOSTILE.map((value) => value.replaceAll(/[^\t -~\u0080-\u00ff]/g, '').trim());
    const bytes = Array.from({ length: 128 }, (_, i) => String.fromCharCode(i + 128)).join('');
    const rawHeaders = values.flatMap((value, i) => [`X-${i}`, value]);
    await expectSame({ rawHeaders });
    await expectSame({
      rawHeaders: ['a', '1', 'A', '', 'a', '1', 'b', `x${bytes}x`, 'c', 'x;', 'd', ';', 'e', ':', 'f', '\tx'.trim()],
    });
    await expectSame({ rawHeaders: ["!#$%&'*+-.^_`|~", 'a name', '-H', 'x', '-', '', '+', '1'] });
    await expectSame({ rawHeaders: ['X-Long', 'x'.repeat(60_000), 'X-Latin', 'é'.repeat(30_000)] });
    await expectSame({ rawHeaders: Array.from({ length: 500 }, (_, i) => [`x${i % 7}`, `${i}`]).flat() });
  });

  test('sends the headers that curl treats on its own', async () => {
    await expectSame({
      rawHeaders: ['accept', '*/*', 'User-Agent', '', 'Cookie', 'a=1', 'cookie', 'b=2', 'Accept-Encoding', 'gzip'],
    });
    await expectSame({
      rawHeaders: ['Content-Type', 'application/json; charset=utf-8', 'Content-Encoding', 'gzip'],
      body: '{}',
    });
    await expectSame({
      rawHeaders: ['Content-Type', '', 'Authorization', 'Bearer x', 'Connection', 'close'],
      body: '{}',
    });
    await expectSame({ rawHeaders: ['Expect', '100-continue', 'TE', 'trailers', 'Range', 'bytes=0-1'], body: 'x' });
    await expectSame({ rawHeaders: ['Referer', 'http://x/#y', 'Proxy-Authorization', 'x', 'If-None-Match', '"x"'] });
    await expectSame({ rawHeaders: ['Content-Length', '0'] });
    await expectSame({ method: 'GET', rawHeaders: ['Content-Length', '0'] });
    await expectSame({ rawHeaders: ['Transfer-Encoding', 'chunked', 'X-After', '1'], body: 'x'.repeat(70_000) });
    await expectSame({ rawHeaders: ['Transfer-Encoding', 'gzip, chunked'], body: 'x' });
    await expectSame({ rawHeaders: ['transfer-encoding', 'chunked'] });
  });

  test('sends targets with any characters that a parser lets through', async () => {
    const printable = Array.from({ length: 94 }, (_, i) => String.fromCharCode(i + 33)).join('');
    for (const target of ['', '/', '//', '/../..%2f./a/', '?', '?a=1&a=2&', '?q=[1-3]{a,b}', '#fragment', '?x#y'])
      await expectSame({ target: `/h/x${target}` });
    await expectSame({ target: `/h/${printable}` });
    await expectSame({ target: `/h/x?${printable}%zz%` });
    await expectSame({ target: `/h/x?${'y'.repeat(60_000)}` });
  });

  test.each(METHODS.filter((method) => method !== 'CONNECT'))('sends %s, with a body too', async (method) => {
    await expectSame({ method });
    await expectSame({ method, body: "it's" });
  });

  test('leaves the captured Host out where it is that of the URL, so that the URL can be changed', () => {
    const request = captured({});
    expect([...curlCommand(request, 'https://hooks.example.com')].join('')).not.toContain('Host');
    expect([...curlCommand(request, 'https://other.example.com')].join('')).toContain("-H 'Host: hooks.example.com'");
  });
});

test.each<[string, Fields]>([
  ['a body of any bytes', { body: Buffer.from(Array.from({ length: 256 }, (_, i) => i)) }],
  ['a large body', { body: Buffer.alloc(300_000, 'x') }],
  ['no body', { method: 'HEAD', target: '/h/x?#%zz', rawHeaders: ['a', '', 'A', 'é', 'a', '1'] }],
  ['a body in chunks', { body: 'chunks', rawHeaders: ['Transfer-Encoding', 'chunked'] }],
  ['no bytes in chunks', { rawHeaders: ['Transfer-Encoding', 'chunked'] }],
])('the raw message with %s is what a server reads as the captured request', async (_name, fields) => {
  const request = captured(fields);
  const { port, recorded } = await startRecorder();
  const socket = closing(connect(port, '127.0.0.1'), (open) => void open.destroy());
  for (const piece of httpMessage(request)) socket.write(piece);
  await eventually(() => recorded.length === 1);
  expect(recorded.map(comparable)).toEqual([comparable(request)]);
});
