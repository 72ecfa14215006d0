import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { freePort } from '../../src/local/private-server.ts';
import { captureOne, client, send } from '../support/client.ts';
import { environmentVariables, eventually, openEnvironment, ready, type Environment } from '../support/environment.ts';
import { addressesIn } from '../support/html.ts';
import { baseImage, findImageTool, IMAGE_TESTS, NO_IMAGE_TOOL, type ImageTool } from '../support/image.ts';

/** As a Kubernetes pod under the restricted profile runs it; the image sets the rest. */
const HARDENED = [
  '--read-only',
  '--tmpfs',
  '/tmp',
  '--cap-drop=ALL',
  '--security-opt',
  'no-new-privileges',
  '--memory',
  '256m',
];

const MAX_BYTES_OVER_BASE = 40_000_000;

const found = findImageTool();
if (found === undefined) process.stderr.write(`skipping the tests of the image: ${NO_IMAGE_TOOL}\n`);

describe.skipIf(found === undefined)(IMAGE_TESTS, () => {
  const tool = found as ImageTool;
  const run = randomBytes(4).toString('hex');
  const tag = `localhost/hookbay-test:${run}`;
  const container = (role: string): string => `hookbay-${run}-${role}`;
  let environment: Environment;
  let settings: Record<string, string>;

  beforeAll(async () => {
    tool.build(tag);
    environment = await openEnvironment();
    // Another database, without the schema.
    const database = `${environment.config.mysql.database}_image`;
    await environment.db.knex.raw(`CREATE DATABASE ${database}`);
    settings = {
      ...environmentVariables(
        { ...inject('mysql'), database },
        { ...inject('redis'), prefix: environment.config.redis.prefix },
      ),
      HOST: '0.0.0.0',
      LOG_LEVEL: 'info',
      DURABILITY: 'strict',
      INTAKE_MAX_BYTES: String(64 * 1024 * 1024),
    };
  }, 900_000);
  afterAll(async () => {
    for (const role of ['api', 'worker']) tool.run(['rm', '-f', container(role)], { allowFailure: true });
    tool.run(['rmi', '-f', tag], { allowFailure: true });
    await environment.db.knex.raw(`DROP DATABASE ${settings['MYSQL_DATABASE']}`);
    await environment.close();
  });

  const variables = (extra: Record<string, string> = {}): string[] =>
    Object.entries({ ...settings, ...extra }).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  /** Runs a role until it exits. */
  const once = (...command: string[]): { code: number | null; stdout: string; stderr: string } =>
    tool.run(['run', '--rm', '--network=host', '--no-healthcheck', ...HARDENED, ...variables(), tag, ...command], {
      allowFailure: true,
    });

  async function start(role: 'api' | 'worker'): Promise<{ port: number; internalPort: number; seconds: number }> {
    const [port, internalPort] = [await freePort(), await freePort()];
    const begin = performance.now();
    const ports = { PORT: String(port), INTERNAL_PORT: String(internalPort) };
    tool.run([
      'run',
      '-d',
      '--name',
      container(role),
      '--network=host',
      '--no-healthcheck',
      ...HARDENED,
      ...variables(ports),
      tag,
      role,
    ]);
    await ready(internalPort);
    return { port, internalPort, seconds: (performance.now() - begin) / 1000 };
  }

  test('migrates, mints a token, captures, lists and stops cleanly, hardened', async () => {
    expect(once('migrate')).toMatchObject({ code: 0, stdout: expect.stringContaining('Migrated') });
    const token = once('token', '--sub', 'ann', '--plan', 'pro').stdout.trim();
    const [api, worker] = [await start('api'), await start('worker')];
    process.stdout.write(`start to ready: api ${api.seconds.toFixed(1)} s, worker ${worker.seconds.toFixed(1)} s\n`);

    const url = `http://127.0.0.1:${api.port}`;
    const owner = client(url, token);
    const { body: html } = await send<string>(`${url}/`);
    for (const address of addressesIn(html)) {
      const { status, headers } = await send(`${url}${address}`);
      expect([address, status, headers['content-type']]).toEqual([address, 200, expect.stringMatching(/script|css/)]);
    }
    const { body: endpoint } = await owner.create();
    const { id } = await captureOne(url, endpoint.id, { body: 'hello from a container' });
    const listed = await owner.list(endpoint.id);
    expect(listed.body.requests.map((entry) => [entry.id, entry.body])).toEqual([[id, 'hello from a container']]);
    expect(once('dead-letters', 'list')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('There are no dead letters.'),
    });

    // The image's own health check, which Compose uses.
    const check = (
      JSON.parse(
        tool.run(['image', 'inspect', tag, '--format', '{{json .Config.Healthcheck.Test}}']).stdout,
      ) as string[]
    ).slice(1);
    for (const role of ['api', 'worker']) {
      expect(tool.run(['exec', container(role), ...check]).code).toBe(0);
      expect(tool.run(['exec', container(role), ...check, '--ready']).code).toBe(0);
      const wrong = tool.run(['exec', '-e', 'INTERNAL_PORT=1', container(role), ...check], { allowFailure: true });
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('does not answer (ECONNREFUSED)')]);
    }

    for (const role of ['api', 'worker']) {
      tool.run(['stop', '--time', '20', container(role)]);
      await eventually(
        () => tool.run(['inspect', container(role), '--format', '{{.State.Running}}']).stdout.trim() === 'false',
      );
      expect([role, tool.run(['inspect', container(role), '--format', '{{.State.ExitCode}}']).stdout.trim()]).toEqual([
        role,
        '0',
      ]);
      expect(tool.run(['logs', container(role)]).stdout).toContain('"msg":"Stopped"');
    }
  });

  test('runs as nobody, cannot change its own files, and has no package manager', () => {
    expect(tool.run(['image', 'inspect', tag, '--format', '{{.Config.User}}']).stdout.trim()).toBe('65532:65532');
    const shell = (script: string): string =>
      tool
        .run(['run', '--rm', '--network=none', '--no-healthcheck', '--entrypoint', 'sh', tag, '-c', script])
        .stdout.trim();
    expect(shell('id -u; id -g')).toBe('65532\n65532');
    // With a writable file system.
    expect(shell('find /app \\( -writable -o ! -user root \\) ! -type l | head')).toBe('');
    expect(
      shell(
        'command -v npm npx yarn corepack; ls node_modules | grep -x -e vitest -e typescript -e oxlint; ls dist; find dist -name "*.ts" | head',
      ),
    ).toBe('migrations\nsrc');
  });

  test('is small', () => {
    const size = (name: string): number => Number(tool.run(['image', 'inspect', name, '--format', '{{.Size}}']).stdout);
    const over = size(tag) - size(baseImage());
    process.stdout.write(`size over the base: ${(over / 1e6).toFixed(1)} MB\n`);
    expect(over).toBeLessThan(MAX_BYTES_OVER_BASE);
  });

  test('refuses an unknown role, with the usage', () => {
    expect(once('serve')).toMatchObject({ code: 1, stderr: expect.stringContaining('usage: main.ts <role>') });
    expect(once('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('dead-letters') });
  });
});
