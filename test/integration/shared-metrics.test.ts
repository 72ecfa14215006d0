import { expect, test } from 'vitest';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { enqueueCaptures } from '../../src/queue/capture-queue.ts';
import { openRedis, closeRedis } from '../../src/redis/connections.ts';
import { holdLease } from '../../src/redis/lease.ts';
import { createLog } from '../../src/log.ts';
import { makeCapture } from '../support/captures.ts';
import { client, mintToken } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { scrape, type Exposition } from '../support/exposition.ts';
import { startProxy } from '../support/proxy.ts';
import { startRole } from '../support/processes.ts';

const SHARED = [
  'hookbay_queue_jobs',
  'hookbay_queue_oldest_waiting_seconds',
  'hookbay_dead_letters',
  'hookbay_purges_pending',
];

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

const leaseKey = (): string => `${environment.config.redis.prefix}:metrics-lease`;
const sharedIn = (metrics: Exposition): string[] => SHARED.filter((name) => metrics.value(name) !== undefined);

/** The processes that export the metrics of what all of them share. */
async function tellers<P extends { internalPort: number }>(processes: P[]): Promise<P[]> {
  const scrapes = await Promise.all(processes.map(({ internalPort }) => scrape(internalPort)));
  return processes.filter((_process, i) => sharedIn(scrapes[i] as Exposition).length > 0);
}

test('one of two workers exports the whole state of queues and backlog; when it is killed the other one does', async () => {
  const workers = await Promise.all([startRole('worker', environment.env), startRole('worker', environment.env)]);
  for (const worker of workers) closing(worker, async (running) => void (await running.end()));
  await eventually(async () => (await tellers(workers)).length === 1);
  const [holder] = await tellers(workers);
  const other = workers.find((worker) => worker !== holder);
  if (holder === undefined || other === undefined) throw new Error('there is no holder');

  const metrics = await scrape(holder.internalPort);
  expect(sharedIn(metrics)).toEqual(SHARED);
  const series = metrics.samples
    .filter(({ name }) => name === 'hookbay_queue_jobs')
    .map(({ labels }) => `${labels['queue']} ${labels['state']}`);
  const states = ['waiting', 'active', 'delayed', 'failed'];
  expect(series).toEqual(
    ['capture', 'capture-large', 'maintenance'].flatMap((queue) => states.map((state) => `${queue} ${state}`)),
  );

  await holder.end('SIGKILL');
  await eventually(async () => (await tellers([other])).length === 1);
  expect(sharedIn(await scrape(other.internalPort))).toEqual(SHARED);
});

test('a worker that stops releases the lease at once', async () => {
  const worker = await environment.startWorker();
  await eventually(async () => (await tellers([worker])).length === 1);
  expect(await environment.redis.exists(leaseKey())).toBe(1);
  await worker.stop();
  expect(await environment.redis.exists(leaseKey())).toBe(0);
});

test('the numbers are those of the queues and tables', async () => {
  const api = await environment.startApi();
  const owner = client(api.url, mintToken('ann'));
  const { id } = (await owner.create()).body;
  await environment.db.knex('dead_letters').insert({
    id: Buffer.alloc(16),
    batch_id: Buffer.alloc(16),
    endpoint_id: Buffer.alloc(16),
    user_id: 'ann',
    error_code: 'X',
    capture: '{}',
    created_at: new Date(),
  });
  // A database that refuses the ledger keeps jobs active in the worker, and all other tables can be read.
  await environment.db.knex.raw(
    `CREATE TRIGGER busy BEFORE INSERT ON capture_batches FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'busy'`,
  );
  const worker = await environment.startWorker({ WORKER_CONCURRENCY: '1' });
  for (let n = 0; n < 3; n += 1)
    await enqueueCaptures(environment.queue, {
      id: newTimeOrderedId(),
      day: '2026-03-01',
      captures: [makeCapture(id)],
    });
  const jobs = (metrics: Exposition, state: string) => metrics.value('hookbay_queue_jobs', { queue: 'capture', state });
  await eventually(async () => jobs(await scrape(worker.internalPort), 'active') === 1);
  const [next] = await environment.queue.getRanges(['wait'], 0, 0, true);
  await environment.redis.hset(environment.queue.toKey(next ?? ''), 'timestamp', Date.now() - 3_600_000);
  const metrics = await scrape(worker.internalPort);
  expect([jobs(metrics, 'waiting'), jobs(metrics, 'active'), jobs(metrics, 'failed')]).toEqual([2, 1, 0]);
  const age = metrics.value('hookbay_queue_oldest_waiting_seconds', { queue: 'capture' }) ?? 0;
  expect(age).toBeGreaterThanOrEqual(3_600);
  expect(age).toBeLessThan(3_700);
  expect(metrics.value('hookbay_queue_oldest_waiting_seconds', { queue: 'capture-large' })).toBe(0);
  expect(metrics.value('hookbay_dead_letters')).toBe(1);
  expect(metrics.value('hookbay_purges_pending')).toBe(0);
  await environment.db.knex('purges').insert({ endpoint_id: Buffer.alloc(16), created_at: new Date() });
  await eventually(async () => (await scrape(worker.internalPort)).value('hookbay_purges_pending') === 1);
  await environment.db.knex.raw('DROP TRIGGER busy');
  await environment.drained();
  await eventually(
    async () =>
      (await scrape(worker.internalPort)).value('hookbay_queue_oldest_waiting_seconds', { queue: 'capture' }) === 0,
  );
  await worker.stop();
  await api.stop();
});

test('a database that hangs removes its own gauges, and the scrape succeeds', async () => {
  const proxy = closing(await startProxy(Number(environment.env['MYSQL_PORT'])), (open) => open.close());
  const worker = await environment.startWorker({ MYSQL_PORT: String(proxy.port) });
  await eventually(async () => sharedIn(await scrape(worker.internalPort)).length === SHARED.length);
  let metrics = await scrape(worker.internalPort);
  await eventually(async () => {
    // Repeated, because a sweep may have held all connections, and a new one answers once.
    proxy.silenceExisting();
    metrics = await scrape(worker.internalPort);
    return metrics.value('hookbay_dead_letters') === undefined;
  });
  expect(sharedIn(metrics)).toEqual(['hookbay_queue_jobs', 'hookbay_queue_oldest_waiting_seconds']);
  proxy.close();
  await worker.stop();
});

test('a lease that another process has acquired is neither held nor deleted', async () => {
  const redis = closing(openRedis(environment.config.redis, 'worker', createLog('silent')), closeRedis);
  const key = `${environment.config.redis.prefix}:some-lease`;
  const [one, other] = [holdLease(redis, key), holdLease(redis, key)];
  await eventually(() => one.held() || other.held());
  expect([one.held(), other.held()].filter(Boolean)).toHaveLength(1);
  const [holder, loser] = one.held() ? [one, other] : [other, one];
  // A dead holder keeps it for this time.
  const ttlMs = await redis.pttl(key);
  expect([ttlMs > 0, ttlMs <= 10_000]).toEqual([true, true]);
  await redis.set(key, 'a third one');
  await eventually(() => !holder.held());
  await Promise.all([holder.release(), loser.release()]);
  expect(await redis.get(key)).toBe('a third one');
});
