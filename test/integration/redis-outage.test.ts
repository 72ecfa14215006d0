import { pino } from 'pino';
import { expect, inject, test } from 'vitest';
import { closeRedis, openRedis } from '../../src/redis/connections.ts';
import { closing, eventually } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';

test('an outage of Redis is one line of a process, whatever the number of its connections, and so is its end', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
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
    // One that is closed meanwhile is not waited for.
    closeRedis(connections.shift() as (typeof connections)[number]);
    proxy = closing(await startProxy(inject('redis').port, 0, config.port), (open) => open.close());
    await allReady();
    expect(lines.splice(0)).toEqual(['Redis is not reachable; reconnecting', 'Redis is back']);
  }
});
