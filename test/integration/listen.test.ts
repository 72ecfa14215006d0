import { execFileSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { idToBytes } from '../../src/domain/ids.ts';
import { verifySignature } from '../../src/domain/signature/verify.ts';
import { USAGE } from '../../src/listen/options.ts';
import { makeAuthority, NO_OPENSSL } from '../support/certificates.ts';
import { captureOne, client, mintToken, send, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startListener, startLocalServer, type Listener, type LocalServer } from '../support/listener.ts';

const SECRET = 'whsec_test';

let environment: Environment;
let url: string;
let users = 0;
let token: string;
let api: Client;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  ({ url } = await environment.startApi());
  await environment.startWorker();
});
beforeEach(async () => {
  token = mintToken(`listener-${(users += 1)}`);
  api = client(url, token);
  endpointId = (await api.create()).body.id;
});

type Answer = Parameters<typeof startLocalServer>[0];

const localServer = async (answer?: Answer): Promise<LocalServer> =>
  closing(await startLocalServer(answer), (server) => server.stop());

function listen(args: string[], ...rest: [env?: Record<string, string>, command?: [string, ...string[]]]): Listener {
  const [env = { HOOKBAY_TOKEN: token }, command] = rest;
  return closing(startListener(['--endpoint', endpointId, '--url', url, ...args], env, command), async (running) => {
    await running.end('SIGKILL');
  });
}

async function isListening(listener: Listener): Promise<void> {
  await eventually(() => listener.said().includes('Forwarding'));
}

/** The Node that this machine has beside the pinned one, if there is any. */
function otherNode(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return folders.map((folder) => join(folder, 'node')).find((file) => existsSync(file)) ?? process.execPath;
}

function multipart(): Buffer {
  const part = (head: string, body: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`--x\r\nContent-Disposition: form-data; ${head}\r\n\r\n`), body, Buffer.from('\r\n')]);
  return Buffer.concat([
    part('name="a"', Buffer.from('1')),
    part('name="f"; filename="ü.bin"\r\nContent-Type: application/octet-stream', randomBytes(500)),
    Buffer.from('--x--\r\n'),
  ]);
}

const hmac = (body: Buffer, prefix = ''): string =>
  createHmac('sha256', SECRET).update(prefix).update(body).digest('hex');

test.each<[string, () => Promise<[string, ...string[]]>]>([
  ['the role', async () => [process.execPath, 'src/main.ts', 'listen']],
  [
    'the single file, on a Node without anything else',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'hookbay-listen-'));
      closing(folder, (path) => rmSync(path, { recursive: true }));
      const { bytes } = await send(`${url}/listen.mjs`);
      writeFileSync(join(folder, 'listen.mjs'), bytes);
      return [otherNode(), join(folder, 'listen.mjs')];
    },
  ],
])('%s forwards to the byte: signatures stay valid [Listen: what is forwarded]', async (_name, command) => {
  const local = await localServer();
  const listener = listen(
    [`http://127.0.0.1:${local.port}/in`, '--once', '5', '--concurrency', '1'],
    undefined,
    await command(),
  );
  await isListening(listener);
  const json = Buffer.from('{ "a":1.0,\t"é": "\\u00e9\u2028" }\r\n');
  const noise = Buffer.concat([Buffer.from([0xff, 0xfe, 0x00]), randomBytes(3_000)]);
  const form = multipart();
  const t = Math.floor(Date.now() / 1_000);
  const odd = ['X-Odd', 'one', 'x-ODD', '', 'X-Latin', 'caf\u00e9', 'Accept', '*/*', 'X-Odd', 'two'];
  await captureOne(url, `${endpointId}/github?a=1&a=%ff&b`, {
    body: json,
    headers: [...odd, 'X-Hub-Signature-256', `sha256=${hmac(json)}`, 'Content-Type', 'application/json'],
  });
  await captureOne(url, endpointId, {
    body: noise,
    headers: ['Stripe-Signature', `t=${t},v1=${hmac(noise, `${t}.`)}`, 'Transfer-Encoding', 'chunked'],
  });
  await captureOne(url, `${endpointId}/`, {
    method: 'PUT',
    body: form,
    headers: ['X-Hub-Signature-256', `sha256=${hmac(form)}`, 'Content-Type', 'multipart/form-data; boundary=x'],
  });
  await captureOne(url, `${endpointId}/gone//a%2Fb`, { method: 'DELETE' });
  await captureOne(url, endpointId, { method: 'GET', body: noise, headers: ['Content-Length', String(noise.length)] });
  expect([await listener.exit, listener.said()]).toEqual([0, expect.stringMatching(/^Forwarding [^\n]*\n$/)]);

  const [github, stripe, upload, gone, get] = local.arrivals;
  expect(local.arrivals.map(({ method, target }) => [method, target])).toEqual([
    ['POST', '/in/github?a=1&a=%ff&b'],
    ['POST', '/in'],
    ['PUT', '/in/'],
    ['DELETE', '/in/gone//a%2Fb'],
    ['GET', '/in'],
  ]);
  expect([github, stripe, upload, gone, get].map((arrival) => arrival?.body)).toEqual([
    json,
    noise,
    form,
    Buffer.alloc(0),
    noise,
  ]);
  // Only the host and what belongs to the connection differ.
  expect(github?.rawHeaders.slice(0, -2)).toEqual([
    'Host',
    `127.0.0.1:${local.port}`,
    'Content-Length',
    String(json.length),
    ...odd,
    'X-Hub-Signature-256',
    `sha256=${hmac(json)}`,
    'Content-Type',
    'application/json',
  ]);
  expect(gone?.rawHeaders.slice(0, -2)).toEqual(['Host', `127.0.0.1:${local.port}`]);
  for (const arrival of [github, upload]) {
    const signature = arrival?.header('x-hub-signature-256') ?? '';
    const input = { payload: arrival?.body as Buffer, signature, secret: SECRET };
    expect((await verifySignature('github', input, Date.now())).valid).toBe(true);
  }
  const input = {
    payload: stripe?.body as Buffer,
    signature: stripe?.header('stripe-signature') ?? '',
    secret: SECRET,
  };
  expect((await verifySignature('stripe', input, Date.now())).valid).toBe(true);
});

test('a build gives out the same command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookbay-build-'));
  closing(folder, (path) => rmSync(path, { recursive: true }));
  const tsc = ['node_modules/.bin/tsc', '--project', 'tsconfig.build.json', '--outDir', folder];
  execFileSync(process.execPath, tsc, { stdio: 'inherit' });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const built = join(folder, 'src/api/management/listen-file.js');
  const print = `import('${built}').then((file) => process.stdout.write(file.joinListenModules()))`;
  writeFileSync(join(folder, 'listen.mjs'), execFileSync(process.execPath, ['-e', print]));
  const help = execFileSync(otherNode(), [join(folder, 'listen.mjs'), '--help'], { encoding: 'utf8' });
  expect(help).toBe(`${USAGE}\n`);
});

test.skipIf(NO_OPENSSL)('a local server with TLS is checked as Node does it', async () => {
  const authority = makeAuthority();
  const secure = createSecureServer(authority.issue('DNS:localhost'), (_req, res) => void res.end());
  secure.listen(0, '127.0.0.1');
  await once(secure, 'listening');
  closing(secure, (server) => void server.close());
  await captureOne(url, endpointId);
  const args = [`https://localhost:${(secure.address() as AddressInfo).port}`, '--after', '0', '--once', '1'];
  const doubting = listen(args);
  await eventually(() => /cannot be reached \(unable to verify/.test(doubting.said()));
  expect(doubting.lines()).toEqual([]);
  expect(await listen(args, { HOOKBAY_TOKEN: token, NODE_EXTRA_CA_CERTS: authority.path }).exit).toBe(0);
});

test('bodies over 256 KiB come whole, text and noise', async () => {
  const local = await localServer();
  const bodies = [
    Buffer.from('aé😀'.repeat(100_000)),
    randomBytes(5_000_000),
    randomBytes(256 * 1024),
    randomBytes(256 * 1024 + 1),
  ];
  for (const body of bodies) await captureOne(url, endpointId, { body, headers: ['X-Size', String(body.length)] });
  const listener = listen([String(local.port), '--after', '0', '--once', '4']);
  expect(await listener.exit).toBe(0);
  for (const body of bodies) {
    const arrival = local.arrivals.find((one) => one.header('x-size') === String(body.length));
    expect([arrival?.header('content-length'), arrival?.body.equals(body)]).toEqual([String(body.length), true]);
  }
});

test('an answer that comes before the server has read the body counts', async () => {
  const early = createServer((_req, res) => void res.writeHead(413).end());
  early.listen(0, '127.0.0.1');
  await once(early, 'listening');
  closing(early, (server) => void server.close());
  for (let i = 0; i < 5; i += 1) await captureOne(url, endpointId, { body: randomBytes(5_000_000) });
  const { port } = early.address() as AddressInfo;
  const listener = listen([String(port), '--after', '0', '--once', '5', '--json']);
  expect(await listener.exit).toBe(0);
  const results = listener.lines().map((line) => JSON.parse(line) as { status: number; attempts: number });
  expect(results.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(Array(5).fill('413 1'));
});

test('--after says where to begin, and the end where to go on [Listen: position]', async () => {
  const local = await localServer();
  const bodies = (): string[] =>
    local.arrivals
      .splice(0)
      .map(({ body }) => body.toString())
      .toSorted();
  for (const body of ['1', '2', '3']) await captureOne(url, endpointId, { body });
  await environment.drained();
  expect(await listen([String(local.port), '--after', '0', '--once', '3']).exit).toBe(0);
  expect(bodies()).toEqual(['1', '2', '3']);
  const second = listen([String(local.port), '--after', '1']);
  await eventually(() => second.lines().length === 2);
  expect(await second.end('SIGINT')).toBe(0);
  expect(second.said()).toContain('Stopped. To go on from here: --after 3');
  expect(bodies()).toEqual(['2', '3']);
  const third = listen([String(local.port)]);
  await isListening(third);
  await captureOne(url, endpointId, { body: '4' });
  await eventually(() => third.lines().length === 1);
  expect(await third.end('SIGTERM')).toBe(0);
  expect(bodies()).toEqual(['4']);
});

test('a line a request, or a JSON object [Listen: output]', async () => {
  const local = await localServer((res, { target }) => {
    res.writeHead(target === '/a' ? 201 : 302, { Location: '/elsewhere' });
    res.end();
  });
  await captureOne(url, `${endpointId}/a`);
  const { id } = await captureOne(url, `${endpointId}/b?c=d`, { method: 'PATCH' });
  const text = listen([String(local.port), '--after', '0', '--once', '2', '--concurrency', '1']);
  expect(await text.exit).toBe(0);
  expect(text.lines()).toEqual([
    expect.stringMatching(/^1 POST \/a → 201 \d+ ms$/),
    expect.stringMatching(/^2 PATCH \/b\?c=d → 302 \d+ ms$/),
  ]);
  const json = listen([
    String(local.port),
    '--after',
    '1',
    '--once',
    '1',
    '--json',
    '--keep-path',
    '--header',
    'X-Extra: 1',
  ]);
  expect(await json.exit).toBe(0);
  expect(json.lines().map((line) => JSON.parse(line) as unknown)).toEqual([
    { seq: 2, id, method: 'PATCH', path: `/h/${endpointId}/b?c=d`, status: 302, ms: expect.any(Number), attempts: 1 },
  ]);
  expect(local.arrivals.at(-1)?.header('x-extra')).toBe('1');
  // The redirect is an answer like any other.
  expect(local.arrivals).toHaveLength(3);
});

test('a hostile capture prints harmlessly', async () => {
  const local = await localServer();
  const target = '/\u009b2J\u009d0;owned$(touch+pwned);`id`?\u00ad=\u0085';
  const { id } = await captureOne(url, endpointId, { headers: ['X-Evil', '\u009b31m'] });
  await environment.drained();
  // Node's parser refuses such a target today; what is stored may come from another one.
  await environment.db
    .knex('requests')
    .where({ id: idToBytes(id) })
    .update({ target: `/h/${endpointId}${target}` });
  for (const more of [[], ['--json']]) {
    const listener = listen([String(local.port), '--after', '0', '--once', '1', ...more]);
    // The local server is Node, too, and answers 400.
    expect(await listener.exit).toBe(0);
    expect(listener.lines()).toHaveLength(1);
    expect(listener.lines()[0]).toMatch(/^[\u0020-\u007e→]+$/);
    expect(listener.lines()[0]).toContain('\\u009b2J\\u009d0;owned$(touch+pwned);`id`?\\u00ad=\\u0085');
  }
});

test("an alias is followed, by its URL too; filters are the API's", async () => {
  const { id } = (await api.create({ alias: `listen-${users}`, permanent: true })).body;
  const local = await localServer();
  for (const path of ['orders/1', 'other', 'orders/2']) await captureOne(url, `listen-${users}/${path}`);
  const args = ['--after', '0', '--once', '2', '--path', '/orders', String(local.port)];
  const listener = listen([...args, '--endpoint', `${url}/h/listen-${users}`]);
  expect([await listener.exit, listener.said()]).toEqual([0, expect.stringContaining(id)]);
  expect(local.arrivals.map(({ target }) => target).toSorted()).toEqual(['/orders/1', '/orders/2']);
});

test.each<[string, string[], Record<string, string> | undefined, string]>([
  ['no token', [], {}, 'There is no token'],
  ['a wrong token', ['--token', 'x'], undefined, 'Hookbay answers 401'],
  ['a plan that is not known', ['--token', mintToken('x', { plan: 'none' })], undefined, 'Hookbay answers 403'],
  ['an endpoint of others', ['--token', mintToken('other')], undefined, 'Hookbay answers 404'],
  ['an unknown alias', ['--endpoint', 'unknown'], undefined, 'Hookbay has no endpoint unknown of yours'],
  ['a wrong filter', ['--json-filter', 'x'], undefined, 'Hookbay answers 400: json'],
  ['a wrong option', ['--once', 'x'], undefined, '--once must be a whole number'],
])('%s ends it with code 1 [Listen: exit codes]', async (_name, args, env, message) => {
  const listener = listen(['1', ...args], env);
  expect([await listener.exit, listener.said()]).toEqual([1, expect.stringContaining(message)]);
  expect(listener.lines()).toEqual([]);
});

test('an endpoint that is deleted ends it, and a token that expires', async () => {
  const local = await localServer();
  const short = listen([String(local.port), '--token', mintToken(`listener-${users}`, {}, { expiresIn: 1 })]);
  const listener = listen([String(local.port)]);
  await isListening(listener);
  await isListening(short);
  expect(await short.exit).toBe(1);
  expect(short.said()).toMatch(/\(unauthorized\); connecting again\nHookbay answers 401: .*\n$/);
  await api.removeEndpoint(endpointId);
  expect(await listener.exit).toBe(1);
  expect(listener.said()).toContain('Hookbay answers 404');
});

test('requests wait for a server that is not there; none is lost when it breaks off [Listen: retries]', async () => {
  const first = await startLocalServer((res) => void res.socket?.destroy());
  await first.stop();
  for (const body of ['1', '2', '3']) await captureOne(url, endpointId, { body });
  const listener = listen([String(first.port), '--after', '0', '--json', '--once', '3']);
  await eventually(() => listener.said().includes('cannot be reached (connect ECONNREFUSED'));
  const crashing = await startLocalServer((res) => void res.socket?.destroy(), first.port);
  await eventually(() => crashing.arrivals.length > 0);
  await crashing.stop();
  const working = closing(await startLocalServer(undefined, first.port), (server) => server.stop());
  expect(await listener.exit).toBe(0);
  expect(working.arrivals.map(({ body }) => body.toString()).toSorted()).toEqual(['1', '2', '3']);
  expect(listener.said()).toContain('can be reached again');
  const results = listener.lines().map((line) => JSON.parse(line) as { status: number; attempts: number });
  expect(results.every(({ status, attempts }) => status === 200 && attempts > 1)).toBe(true);
});

test('a request that breaks every connection is given up, and --once tells it by its code', async () => {
  const local = await localServer(
    (res, { body }) => void (body.toString() === 'bad' ? res.socket?.destroy() : res.end()),
  );
  await captureOne(url, endpointId, { body: 'bad' });
  await captureOne(url, endpointId, { body: 'good' });
  const listener = listen([String(local.port), '--after', '0', '--once', '2', '--concurrency', '1']);
  expect(await listener.exit).toBe(1);
  expect(listener.lines()).toEqual([
    expect.stringMatching(/^1 POST \/ → socket hang up \d+ ms, attempt 5$/),
    expect.stringMatching(/^2 POST \/ → 200 \d+ ms$/),
  ]);
});

test('an answer that does not come in time is one line, and not repeated', async () => {
  const local = await localServer(() => {});
  await captureOne(url, endpointId);
  const listener = listen([String(local.port), '--after', '0', '--once', '1', '--timeout', '1']);
  expect(await listener.exit).toBe(1);
  expect(listener.lines()).toEqual([expect.stringMatching(/^1 POST \/ → no answer within 1 s \d+ ms$/)]);
  expect(local.arrivals).toHaveLength(1);
});

test('an endless answer is not read to its end', async () => {
  const local = await localServer((res) => {
    const more = (): void => void (res.destroyed || res.write(Buffer.alloc(65_536), () => setImmediate(more)));
    more();
  });
  await captureOne(url, endpointId);
  expect(await listen([String(local.port), '--after', '0', '--once', '1']).exit).toBe(0);
});

test('Ctrl-C lets open requests end, and an unfinished --once is 130 [Listen: Ctrl-C]', async () => {
  const local = await localServer(() => {});
  await captureOne(url, endpointId);
  const listener = listen([String(local.port), '--after', '0', '--once', '2']);
  await eventually(() => local.open() === 1);
  listener.child.kill('SIGINT');
  await eventually(() => local.arrivals.length === 1);
  local.release();
  expect(await listener.exit).toBe(130);
  expect(listener.lines()).toEqual([expect.stringMatching(/^1 POST \/ → 200/)]);
  expect(listener.said()).toContain('--after 1');
});

test('a second Ctrl-C ends it at once', async () => {
  const local = await localServer(() => {});
  await captureOne(url, endpointId);
  const listener = listen([String(local.port), '--after', '0', '--timeout', '3600']);
  await eventually(() => local.arrivals.length === 1);
  listener.child.kill('SIGINT');
  // A first one alone is 0, after some time for the open request.
  await eventually(() => listener.child.exitCode !== null || !listener.child.kill('SIGINT'));
  expect(await listener.exit).toBe(130);
});

test('it ends when nobody reads its lines any more, as in `| head -1`', async () => {
  const local = await localServer();
  await captureOne(url, endpointId);
  const listener = listen([String(local.port), '--after', '0']);
  await eventually(() => listener.lines().length === 1);
  listener.child.stdout?.destroy();
  await captureOne(url, endpointId);
  expect(await listener.exit).toBe(0);
});

test('what has no result is before the position that Ctrl-C tells', async () => {
  const local = await localServer((res, { body }) => void (body.toString() === '2' || res.end()));
  for (const body of ['1', '2', '3']) await captureOne(url, endpointId, { body });
  const listener = listen([String(local.port), '--after', '0']);
  await eventually(() => listener.lines().length === 2 && local.open() === 1);
  expect(await listener.end('SIGINT')).toBe(0);
  expect(listener.said()).toContain('To go on from here: --after 1');
});

test('a server that hangs stops the reading: at most --concurrency requests are open [Listen: order]', async () => {
  let [held, most] = [true, 0];
  const local = await localServer((res) => {
    most = Math.max(most, local.open());
    if (!held) res.end();
  });
  const count = 200;
  for (let i = 0; i < count; i += 1) await captureOne(url, endpointId, { body: String(i) });
  const listener = listen([String(local.port), '--after', '0', '--concurrency', '3', '--once', String(count)]);
  await eventually(() => local.arrivals.length === 3);
  held = false;
  local.release();
  expect([await listener.exit, most]).toEqual([0, 3]);
  expect(new Set(local.arrivals.map(({ body }) => body.toString())).size).toBe(count);
});

test('with --concurrency 1 requests come in the order of seq', async () => {
  const local = await localServer((res) => void setTimeout(() => res.end(), Math.random() * 10));
  for (let i = 1; i <= 30; i += 1) await captureOne(url, endpointId, { body: String(i) });
  await environment.drained();
  const listener = listen([String(local.port), '--after', '0', '--concurrency', '1', '--once', '30']);
  expect(await listener.exit).toBe(0);
  const inOrder = Array.from({ length: 30 }, (_, i) => i + 1);
  expect(listener.lines().map((line) => Number(line.split(' ')[0]))).toEqual(inOrder);
});
