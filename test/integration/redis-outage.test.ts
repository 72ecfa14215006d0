import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { pino } from 'pino';
import { expect, inject, test } from 'vitest';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { closing, eventually, openEnvironment } from '../support/environment.ts';
import { endProcess } from '../support/processes.ts';
import { startProxy } from '../support/proxy.ts';

test('a process logs one line for an outage of Redis and one for its end, whatever the number of its connections', async () => {
  const lines: string[] = [];
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) },
  );
  let proxy = await startProxy(inject('redis').port);
  const config = { ...inject('redis'), host: '127.0.0.1', port: proxy.port };
  const roles = ['producer', 'cache', 'live', 'subscriber', 'worker', 'producer'] as const;
  const connections = roles.map((role) => closing(openRedis(config, role, log), closeRedis));
  const allReady = (): Promise<void> => eventually(() => connections.every(({ status }) => status === 'ready'));
  for (let outage = 0; outage < 2; outage += 1) {
    await allReady();
    const noticed = connections.map((redis) => new Promise((resolve) => redis.once('error', resolve)));
    proxy.close();
    await Promise.all(noticed);
    // A connection that is closed meanwhile does not delay the second line.
    closeRedis(connections.shift() as (typeof connections)[number]);
    proxy = closing(await startProxy(inject('redis').port, 0, config.port), (open) => open.close());
    await allReady();
    // A connection is ready a moment before it says so.
    await eventually(() => lines.includes('Redis is back'));
    expect(lines.splice(0)).toEqual(['Redis is not reachable; reconnecting', 'Redis is back']);
  }
});

test.each(['api', 'worker'])(
  'the role %s, its queues included, logs one line for an outage of Redis and one for its end',
  async (role) => {
    const environment = closing(await openEnvironment(), (open) => open.close());
    const proxy = await startProxy(inject('redis').port);
    const child = spawn(process.execPath, ['src/main.ts', role], {
      env: {
        ...process.env,
        ...environment.env,
        REDIS_PORT: String(proxy.port),
        PORT: '0',
        INTERNAL_PORT: '0',
        LOG_LEVEL: 'info',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    closing(child, async () => void (await endProcess(child, 'SIGKILL')));
    const lines: { msg: string; error?: unknown }[] = [];
    let internalPort: number | undefined;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const parsed = JSON.parse(line) as { msg: string; internalPort?: number };
      internalPort ??= parsed.internalPort;
      lines.push(parsed);
    });
    await eventually(
      async () => internalPort !== undefined && (await fetch(`http://127.0.0.1:${internalPort}/readyz`)).ok,
    );
    // The last lines of a start may come after it is ready.
    await eventually(() => lines.some(({ msg }) => msg === 'Worker is taking jobs' || msg === 'API is listening'));
    await eventually(() => lines.some(({ msg }) => msg === 'Ready'));
    const before = proxy.connections();
    lines.splice(0);
    proxy.close();
    // Each connection tries again several times.
    let attempts = 0;
    const refusing = createServer((socket) => {
      attempts += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => refusing.listen(proxy.port, '127.0.0.1', resolve));
    await eventually(() => attempts >= 40);
    await new Promise((resolve) => refusing.close(resolve));
    const again = closing(await startProxy(inject('redis').port, 0, proxy.port), (open) => open.close());
    await eventually(() => lines.some(({ msg }) => msg === 'Redis is back') && again.connections() >= before);
    expect(lines.map(({ msg, error }) => [msg, JSON.stringify(error)])).toEqual([
      ['Redis is not reachable; reconnecting', expect.any(String)],
      ['Redis is back', undefined],
    ]);
  },
);
