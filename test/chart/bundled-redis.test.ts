import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { findOrInstallPrograms } from '../../src/local/programs.ts';
import { BUNDLED, render } from './support/helm.ts';
import { podOf } from './support/manifests.ts';
import { chartSuite, newestHelm } from './support/suite.ts';

const PASSWORD = 'a]?#@b$c\'d"e\\f `g` %h';

chartSuite('the bundled Redis', () => {
  test('its command starts a durable server of bounded memory, with any password, which is in no list of processes', async () => {
    const set = [...BUNDLED, 'redis.bundled.resources.limits.memory=1000Mi', 'redis.bundled.maxmemoryPercent=50'];
    const { container } = podOf(await render(newestHelm(), { set }), 'StatefulSet', 'redis');
    const folder = mkdtempSync(join(tmpdir(), 'hookbay-redis-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    symlinkSync((await findOrInstallPrograms()).redis, join(folder, 'redis-server'));
    const inFolder = (part: string): string => part.replaceAll('/tmp/', `${folder}/`).replace(/^\/data$/, folder);
    const [program = '', ...args] = [...(container.command ?? []), ...(container.args ?? [])].map(inFolder);
    const socket = join(folder, 'socket');
    const child = spawn(program, [...args, '--port', '0', '--unixsocket', socket], {
      env: { PATH: `${folder}:${process.env['PATH']}`, REDIS_PASSWORD: PASSWORD },
      stdio: 'ignore',
    });
    onTestFinished(() => void child.kill('SIGKILL'));

    const redis = new Redis({ path: socket, password: PASSWORD, maxRetriesPerRequest: null });
    redis.on('error', () => {});
    onTestFinished(() => redis.disconnect());
    const setting = async (name: string): Promise<unknown> =>
      Object.values((await redis.config('GET', name)) as object).at(-1);
    expect(await setting('appendonly')).toBe('yes');
    expect(await setting('appendfsync')).toBe('always');
    expect(await setting('no-appendfsync-on-rewrite')).toBe('no');
    expect(await setting('maxmemory-policy')).toBe('noeviction');
    expect(await setting('maxmemory')).toBe(String(500 * 1024 * 1024));
    expect(await setting('save')).toBe('');
    expect(await setting('requirepass')).toBe(PASSWORD);
    expect(statSync(join(folder, 'password.conf')).mode & 0o077).toBe(0);
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')).not.toContain('?#@');
    // The shell has become the server (exec), so that SIGTERM reaches the server itself.
    const ended = new Promise((resolve) => child.on('exit', (code) => resolve(code)));
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  test('a memory limit is required, in any form that Kubernetes accepts', async () => {
    for (const resources of ['{"limits":null}', 'null']) {
      await expect(
        render(newestHelm(), { set: BUNDLED, json: [`redis.bundled.resources=${resources}`] }),
      ).rejects.toThrow(/redis\.bundled\.resources\.limits\.memory is missing/);
    }
    await expect(
      render(newestHelm(), { set: [...BUNDLED, 'redis.bundled.resources.limits.memory=1GB'] }),
    ).rejects.toThrow(/a memory limit is "1GB", which is no quantity like/);
    const maxmemory = async (limit: string): Promise<string | undefined> =>
      podOf(
        await render(newestHelm(), { set: BUNDLED, json: [`redis.bundled.resources.limits.memory=${limit}`] }),
        'StatefulSet',
        'redis',
      ).container.args?.at(-1);
    expect(await maxmemory('"1.5Gi"')).toBe(String(Math.floor(1.5 * 2 ** 30 * 0.6)));
    expect(await maxmemory('"2G"')).toBe('1200000000');
    expect(await maxmemory('4294967296')).toBe(String(Math.floor(2 ** 32 * 0.6)));
  });
});

chartSuite('the bundled MySQL', () => {
  test('keeps its data in a folder of the volume: a new file system has a lost+found, and MySQL needs an empty folder to start', async () => {
    const { container } = podOf(await render(newestHelm(), { set: BUNDLED }), 'StatefulSet', 'mysql');
    const mounts = container.volumeMounts?.map(({ mountPath }) => mountPath);
    expect(mounts).toEqual(expect.arrayContaining(['/var/lib/mysql', '/var/lib/mysql-files']));
    expect(container.args).toContain('--datadir=/var/lib/mysql/data');
  });

  test('does not pass values that its image refuses: it writes user and passwords into SQL as they are', async () => {
    await expect(render(newestHelm(), { set: [...BUNDLED, 'mysql.username.value=root'] })).rejects.toThrow(
      /mysql\.username\.value must not be root/,
    );
    for (const password of ["a'b", 'a"b', 'a\\b']) {
      for (const name of ['mysql.password', 'mysql.bundled.rootPassword']) {
        await expect(
          render(newestHelm(), { set: BUNDLED, json: [`${name}.value=${JSON.stringify(password)}`] }),
          `${name} ${password}`,
        ).rejects.toThrow(`${name}.value must not have`);
      }
    }
  });

  test('is probed by TCP with a password that is no argument, and keeps what it acknowledged', async () => {
    const { container } = podOf(await render(newestHelm(), { set: BUNDLED }), 'StatefulSet', 'mysql');
    for (const probe of [container.startupProbe, container.readinessProbe]) {
      expect(probe?.exec?.command.join(' ')).toMatch(
        /^sh -c MYSQL_PWD="\$MYSQL_PASSWORD" exec mysql -h127\.0\.0\.1 .*SELECT 1/,
      );
      expect(probe?.exec?.command.join(' ')).not.toContain(' -p');
    }
    expect(container.args).toEqual(
      expect.arrayContaining(['--max-allowed-packet=64M', '--innodb-flush-log-at-trx-commit=1', '--sync-binlog=1']),
    );
  });
});
