import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../../src/local/processes.ts';
import { freePort } from '../../src/local/private-server.ts';
import { captureOne, client, type Receipt } from '../support/client.ts';
import { eventually } from '../support/environment.ts';
import { endProcess } from '../support/processes.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface Started {
  child: ChildProcess;
  url: string;
  token: string;
  output(): string;
}

function newDataDir(): string {
  // A path with a space, and longer than a socket's may be.
  const folder = mkdtempSync(join(tmpdir(), `hookbay start ${'x'.repeat(90)}-`));
  folders.push(folder);
  return folder;
}

/** `npm start`, as a user runs it; resolves when it prints that it is ready. */
async function npmStart(dataDir: string, port: number, extra: NodeJS.ProcessEnv = {}): Promise<Started> {
  // A user's environment, without the variables of the test runner.
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: String(port), DATA_DIR: dataDir, ...extra };
  const child = spawn('npm', ['start'], { env, detached: true });
  let output = '';
  const keep = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  onTestFinished(async () => void (await endProcess(child, 'SIGTERM')));
  await eventually(() => child.exitCode !== null || output.includes('Ctrl-C'));
  if (child.exitCode !== null) throw new Error(`npm start ended: ${output}`);
  return {
    child,
    url: /Hookbay is ready at (\S+)/.exec(output)?.[1] ?? '',
    token: /TOKEN=(\S+)/.exec(output)?.[1] ?? '',
    output: () => output,
  };
}

function processesOf(dataDir: string): number[] {
  return (JSON.parse(readFileSync(join(dataDir, 'processes.json'), 'utf8')) as { pid: number }[]).map(({ pid }) => pid);
}

test('ready, captured, listed by the printed curl sequence, stopped without remaining processes, and started again with its data', async () => {
  const dataDir = newDataDir();
  const port = await freePort();
  const first = await npmStart(dataDir, port);
  expect(first.url).toBe(`http://localhost:${port}`);
  const [, link = ''] = /^Open (\S+)$/m.exec(first.output()) ?? [];
  expect(link).toBe(`${first.url}/#token=${first.token}`);
  expect(first.output().indexOf(link)).toBeLessThan(first.output().indexOf('  TOKEN='));
  expect((await fetch(link)).headers.get('content-type')).toBe('text/html; charset=utf-8');
  const paste = /^ {2}TOKEN=[\s\S]*?(?=^Logs and data)/m.exec(first.output())?.[0] ?? '';
  const [createdUrl, receipt, list] = (await bash(paste)).trim().split('\n') as [string, string, string];
  expect(createdUrl).toMatch(new RegExp(`^${first.url}/h/[0-9a-f-]{36}$`));
  const { id } = JSON.parse(receipt) as Receipt;
  expect(JSON.parse(list)).toMatchObject({
    total: 1,
    requests: [{ id, body: '{"hello":"world"}', content_type: 'application/json' }],
  });

  const pids = processesOf(dataDir);
  expect(pids).toHaveLength(5);
  await endProcess(first.child, 'SIGTERM');
  await eventually(() => !pids.some(isAlive));

  const second = await npmStart(dataDir, port, { PAGE: 'false' });
  expect(second.output()).not.toContain('#token=');
  expect((await client(`http://127.0.0.1:${port}`, second.token).entry(id)).body.body).toBe('{"hello":"world"}');
});

test('a second instance runs beside the first; the same folder or port is refused with a remedy', async () => {
  const [portA, portB] = [await freePort(), await freePort()];
  const [dirA, dirB] = [newDataDir(), newDataDir()];
  const [a, b] = await Promise.all([npmStart(dirA, portA), npmStart(dirB, portB)]);
  const [urlA, urlB] = [`http://127.0.0.1:${portA}`, `http://127.0.0.1:${portB}`];
  const { id } = (await client(urlA, a.token).create()).body;
  await captureOne(urlA, id);
  expect((await client(urlA, a.token).list(id)).body.total).toBe(1);
  // Each has its own key and data.
  expect((await client(urlB, a.token).endpoints()).status).toBe(401);
  expect((await client(urlB, b.token).endpoint(id)).status).toBe(404);

  await expect(npmStart(dirA, await freePort())).rejects.toThrow(/running on .* already .*DATA_DIR/s);
  await expect(npmStart(newDataDir(), portA)).rejects.toThrow(/PORT must be a free port/);
  expect((await client(urlA, a.token).list(id)).body.total).toBe(1);
});

test('after kill -9 of the launcher the next start stops what is left, and has the data', async () => {
  const dataDir = newDataDir();
  const port = await freePort();
  const { token } = await npmStart(dataDir, port);
  const owner = client(`http://127.0.0.1:${port}`, token);
  const { id } = (await owner.create()).body;
  const receipt = await captureOne(`http://127.0.0.1:${port}`, id, { body: 'kept' });
  const pids = processesOf(dataDir);
  process.kill(pids[0] as number, 'SIGKILL');
  await npmStart(dataDir, await portWhenFree(port));
  expect(pids.filter(isAlive)).toEqual([]);
  expect((await owner.entry(receipt.id)).body.body).toBe('kept');
});

test('after kill -9 of npm itself everything stops', async () => {
  const dataDir = newDataDir();
  const { child } = await npmStart(dataDir, await freePort());
  const pids = processesOf(dataDir);
  await endProcess(child, 'SIGKILL');
  await eventually(() => !pids.some(isAlive));
  expect(pids.filter(isAlive)).toEqual([]);
});

test('when the terminal is closed everything stops', async () => {
  const dataDir = newDataDir();
  await npmStart(dataDir, await freePort());
  const pids = processesOf(dataDir);
  process.kill(pids[0] as number, 'SIGHUP');
  await eventually(() => !pids.some(isAlive));
  expect(pids.filter(isAlive)).toEqual([]);
});

test.each([
  ['database', 1],
  ['Redis', 2],
  ['api', 3],
  ['worker', 4],
] as const)('when the %s exits unexpectedly it reports that and stops the rest', async (name, index) => {
  const dataDir = newDataDir();
  const started = await npmStart(dataDir, await freePort());
  const pids = processesOf(dataDir);
  process.kill(pids[index] as number, 'SIGKILL');
  await eventually(() => !pids.some(isAlive) && started.child.exitCode !== null);
  expect(started.output()).toMatch(new RegExp(`The (private )?${name} (process )?ended \\(SIGKILL\\)`));
  expect(started.child.exitCode).not.toBe(0);
});

test('a data directory that cannot be written to, and servers of the user that do not answer, are named', async () => {
  await expect(npmStart('/proc/nope', await freePort())).rejects.toThrow(
    /DATA_DIR must be a folder that this user can write to: \/proc\/nope/,
  );
  const [mysql, redis] = ['mysql://a:b@127.0.0.1:1/c', 'redis://127.0.0.1:1/0'];
  await expect(npmStart(newDataDir(), await freePort(), { MYSQL_URL: mysql, REDIS_URL: redis })).rejects.toThrow(
    /MYSQL_URL: there is no database at 127\.0\.0\.1:1 \(ECONNREFUSED\)/,
  );
  await expect(npmStart(newDataDir(), await freePort(), { REDIS_URL: redis })).rejects.toThrow(
    /REDIS_URL: there is no Redis at 127\.0\.0\.1:1/,
  );
});

test('a wrong setting is refused by name before anything starts', async () => {
  await expect(npmStart(newDataDir(), await freePort(), { TRUST_PROXY_HOPS: 'one' })).rejects.toThrow(
    /TRUST_PROXY_HOPS must be a whole number from 0 to 20 \(it is "one"\)/,
  );
});

/** The API of a killed launcher stops on its own, and holds the port until then. */
async function portWhenFree(port: number): Promise<number> {
  await eventually(async () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => false,
      () => true,
    ),
  );
  return port;
}

function bash(script: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-e', '-c', script], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('exit', (code) => (code === 0 ? resolve(output) : reject(new Error(output))));
  });
}
