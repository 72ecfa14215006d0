import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readPageFiles } from '../../src/api/page/files.ts';
import { rawExchange, send, type Answer } from '../support/client.ts';
import { closing, useEnvironment, type Environment } from '../support/environment.ts';
import { addressesIn } from '../support/html.ts';

let environment: Environment;
let url: string;

useEnvironment(async (opened) => {
  environment = opened;
  ({ url } = await environment.startApi());
});

const addressesOf = (html: string): string[] => addressesIn(html).map((address) => `${url}${address}`);
const page = (): Promise<Answer<string>> => send<string>(`${url}/`);

test('the HTML has a nonce of its own each time, in the policy and at each script, and is not stored', async () => {
  const [first, second] = [await page(), await page()];
  const [nonce, other] = [first, second].map(
    ({ headers }) => /'nonce-([^']+)'/.exec(headers['content-security-policy'] as string)?.[1] ?? '',
  ) as [string, string];
  expect(Buffer.from(nonce, 'base64')).toHaveLength(16);
  expect(other).not.toBe(nonce);
  expect(first.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy':
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'self'; img-src blob:; connect-src 'self'; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
      "trusted-types 'none'",
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  });
  const scripts = first.body.match(/<script\b[^>]*>|<link rel="modulepreload"[^>]*>/g) ?? [];
  expect(scripts.length).toBeGreaterThan(2);
  expect(scripts.filter((tag) => !tag.includes(`nonce="${nonce}"`))).toEqual([]);
  const head = await send(`${url}/`, { method: 'HEAD' });
  expect([head.status, head.bytes.length, head.headers['content-length']]).toEqual([
    200,
    0,
    String(first.bytes.length),
  ]);
});

test('every address in it answers with a script or a style, to keep for a year', async () => {
  const addresses = addressesOf((await page()).body);
  expect(addresses.length).toBeGreaterThan(4);
  for (const address of addresses) {
    const { status, headers, bytes } = await send(address);
    expect([address, status, headers]).toMatchObject([
      address,
      200,
      {
        'content-type': address.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript',
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: 'Accept-Encoding',
      },
    ]);
    expect(bytes.includes('sourceMappingURL')).toBe(false);
    const head = await send(address, { method: 'HEAD' });
    expect([head.status, head.headers['content-length']]).toEqual([200, String(bytes.length)]);
  }
});

test.each([
  ['br, gzip', 'br'],
  ['gzip, deflate, br', 'br'],
  ['gzip', 'gzip'],
  ['br;q=0, gzip;q=0.5', 'gzip'],
  ['*', 'br'],
  ['deflate', undefined],
  ['identity', undefined],
  [undefined, undefined],
  [`${'x,'.repeat(200)}br`, undefined],
])('Accept-Encoding: %s gets %s, of the same content', async (accepted, encoding) => {
  const [address = ''] = addressesOf((await page()).body);
  const plain = await send(address);
  const { headers, bytes } = await send(address, {
    headers: accepted === undefined ? [] : ['Accept-Encoding', accepted],
  });
  expect(headers['content-encoding']).toBe(encoding);
  const decode = { br: brotliDecompressSync, gzip: gunzipSync }[encoding ?? ''] ?? ((raw: Buffer) => raw);
  expect(decode(bytes).equals(plain.bytes)).toBe(true);
});

test('during a rollout an address of another version has our file, and nobody keeps it', async () => {
  const [address = ''] = addressesOf((await page()).body);
  const ours = await send(address);
  const theirs = await send(address.replace(/\/page\/[^/]+\//, '/page/0123456789abcdef/'));
  expect([theirs.status, theirs.headers['cache-control']]).toEqual([200, 'no-store']);
  expect(theirs.bytes.equals(ours.bytes)).toBe(true);
});

test('no path reaches the file system: what is not in the list is 404', async () => {
  const [address = ''] = addressesOf((await page()).body);
  const folder = address.replace(/[^/]+$/, '');
  for (const path of [
    '',
    'nothing.js',
    'tsconfig.json',
    '../api/app.ts',
    '%2e%2e/api/app.ts',
    '..%2fapi%2fapp.ts',
    '%',
  ])
    expect([path, (await send(`${folder}${path}`)).status]).toEqual([path, 404]);
  for (const path of ['/page', '/page/', '/page/x', '/page//main.ts', '/page/constructor/__proto__'])
    expect([path, (await send(`${url}${path}`)).status]).toEqual([path, 404]);
  expect((await send(`${url}/`, { method: 'POST' })).status).toBe(405);
});

test('browsers that ask for an icon get one', async () => {
  const { status, headers } = await send(`${url}/favicon.ico`);
  expect([status, headers['content-type']]).toEqual([200, 'image/svg+xml']);
});

test('the settings are in the HTML, and escaped', async () => {
  const api = await environment.startApi({
    CAPTURE_BASE_URL: 'https://capture.example.com/"><b>&\'',
    LIVE_EVENTS: 'false',
    CUSTOM_RESPONSES: 'redirects',
  });
  const { body } = await send<string>(`${api.url}/`);
  for (const meta of [
    'name="hookbay:capture-base" content="https://capture.example.com/&quot;&gt;&lt;b&gt;&amp;&#39;"',
    'name="hookbay:live" content="false"',
    'name="hookbay:custom-responses" content="redirects"',
  ])
    expect(body).toContain(`<meta ${meta}>`);
  expect((await page()).body).toContain('<meta name="hookbay:capture-base" content="https://hooks.example.com">');
  await api.stop();
});

test('with PAGE=false there is no page, and the host of captures has none either', async () => {
  const paths = ['/', '/favicon.ico', new URL(addressesOf((await page()).body)[0] as string).pathname];
  const without = await environment.startApi({ PAGE: 'false' });
  const apart = await environment.startApi({ CAPTURE_BASE_URL: 'http://capture.example.com' });
  for (const path of paths) {
    expect([path, (await send(`${without.url}${path}`)).status]).toEqual([path, 404]);
    expect([path, (await send(`${apart.url}${path}`)).status]).toEqual([path, 200]);
    const onCaptureHost = await rawExchange(
      apart.port,
      `GET ${path} HTTP/1.1\r\nHost: capture.example.com\r\nConnection: close\r\n\r\n`,
    );
    expect([path, onCaptureHost.split('\r\n')[0]]).toEqual([path, 'HTTP/1.1 404 Not Found']);
  }
  await Promise.all([without.stop(), apart.stop()]);
});

test('the first load is what the entry imports, types and other dynamic imports left out; other contents, another hash', () => {
  const folder = closing(mkdtempSync(join(tmpdir(), 'hookbay-page-')), (path) => rmSync(path, { recursive: true }));
  for (const name of ['view', 'styles']) mkdirSync(join(folder, name));
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write(
    'main.ts',
    "import { a } from './view/a.ts';\nimport type { T } from './types.ts';\nvoid import('./later.ts');\n" +
      "const { e } = await import('./e.ts');\n",
  );
  write('e.ts', "import './c.ts';\nimport './f.ts';\nvoid import('./later.ts');\n");
  write('view/a.ts', "import {\n  h,\n  render,\n} from 'preact';\nimport '../b.ts';\nexport const a = h;\n");
  write('b.ts', "export { c } from './c.ts';\nexport const text = \"from 'd'\";\n");
  for (const name of ['c', 'd', 'f', 'later', 'types']) write(`${name}.ts`, 'export type T = string;\n');
  write('styles/base.css', 'p { margin: 0 }\n');
  write('tsconfig.json', '{}');
  const files = readPageFiles(folder);
  expect(files.modules).toEqual(['main.ts', 'view/a.ts', 'vendor/preact.mjs', 'b.ts', 'c.ts']);
  expect(files.awaited).toEqual(['e.ts', 'f.ts']);
  expect([files.style, files.byPath.get(files.style)?.content()]).toEqual(['styles.css', 'p { margin: 0 }\n']);
  expect([files.byPath.has('tsconfig.json'), files.byPath.get('c.ts')?.content().trim()]).toEqual([false, '']);
  write('later.ts', 'export {};\n');
  expect(readPageFiles(folder).hash).not.toBe(files.hash);
});
