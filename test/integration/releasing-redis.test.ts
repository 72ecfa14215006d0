import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Command } from 'ioredis';
import { beforeAll, expect, test } from 'vitest';
import { ReleasingRedis } from '../../src/redis/releasing-redis.ts';
import { closing, useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
let address: { host: string; port: number; password?: string };

useEnvironment((opened) => {
  environment = opened;
});
beforeAll(() => {
  const { host, port, password } = environment.config.redis;
  address = { host, port, ...(password !== undefined && { password }) };
});

const open = (): ReleasingRedis => closing(new ReleasingRedis(address), (redis) => redis.disconnect());

test('a command lets go of its arguments when it is answered, or refused', async () => {
  const redis = open();
  const set = new Command('set', ['releasing', 'value']);
  const sent = redis.sendCommand(set) as Promise<Buffer>;
  expect(set.args).toEqual(['releasing', 'value']);
  expect(String(await sent)).toBe('OK');
  await expect.poll(() => set.args).toEqual([]);
  expect(await redis.get('releasing')).toBe('value');
  const refused = redis.lpush('releasing', 'more').catch((error: unknown) => error);
  expect(await refused).toMatchObject({ message: expect.stringContaining('WRONGTYPE'), command: { name: 'lpush' } });
});

test('scripts, transactions and pipelines work as before, also those that are sent again', async () => {
  const redis = open();
  redis.defineCommand('echoAll', { numberOfKeys: 0, lua: 'return ARGV' });
  const scripts = redis as unknown as { echoAll(...args: string[]): Promise<string[]> };
  expect(await scripts.echoAll('a', 'b')).toEqual(['a', 'b']);
  await redis.script('FLUSH');
  // Redis knows it no more, so ioredis sends each again.
  expect(await Promise.all([scripts.echoAll('c'), scripts.echoAll('d', 'e')])).toEqual([['c'], ['d', 'e']]);
  const answers = await Promise.all([redis.multi({ pipeline: false }), redis.set('releasing', '1'), redis.exec()]);
  expect(answers).toEqual(['OK', 'QUEUED', [[null, 'OK']]]);
  expect(await redis.pipeline().get('releasing').incr('releasing').exec()).toEqual([
    [null, '1'],
    [null, 2],
  ]);
});

/** What of 2,000 arguments of 20 KB, sent one after another, got into the old generation, in MiB. */
const MEASURE = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { Redis } from 'ioredis';
  import { ReleasingRedis } from ${JSON.stringify(new URL('../../src/redis/releasing-redis.ts', import.meta.url).href)};
  const [kind, address] = process.argv.slice(1);
  const redis = new { Redis, ReleasingRedis }[kind](JSON.parse(address));
  await redis.ping();
  const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
  gc();
  let [last, promoted] = [old(), 0];
  for (let n = 0; n < 2_000; n += 1) {
    await redis.set('releasing', Buffer.alloc(20_000, 'x').toString('latin1'));
    // A full collection in between takes some of it away.
    promoted += Math.max(0, old() - last);
    last = old();
  }
  console.log(promoted / 2 ** 20);
  redis.disconnect();
`;

async function promoted(kind: 'Redis' | 'ReleasingRedis'): Promise<number> {
  const flags = ['--expose-gc', '--max-semi-space-size=1', '--min-semi-space-size=1', '--input-type=module', '--eval'];
  const args = [...flags, MEASURE, kind, JSON.stringify(address)];
  return Number((await promisify(execFile)(process.execPath, args)).stdout);
}

test('what was sent is not kept until a full garbage collection, as with ioredis alone', async () => {
  expect(await promoted('Redis')).toBeGreaterThan(10);
  expect(await promoted('ReleasingRedis')).toBeLessThan(3);
});
