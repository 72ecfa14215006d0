import { Queue } from 'bullmq';
import { newEndpointId } from '../../../src/domain/ids.ts';
import { startChild } from './child.ts';
import { PLAIN_QUEUE, PLAIN_TABLE } from './plain-capture.ts';
import { openStores } from './stores.ts';
import type { Bookkeeping, Subject } from './subject.ts';

/** One job and one INSERT for each capture, on servers with the same settings. */
export async function openPlain(dataDir: string): Promise<Subject> {
  const stores = await openStores(dataDir);
  const { mysql, redis } = stores.servers;
  await stores.pool.query(PLAIN_TABLE);
  const queue = new Queue(PLAIN_QUEUE, { connection: stores.redis });
  const env = {
    PLAIN_REDIS: `redis://:${redis.config.password}@${redis.config.host}:${redis.config.port}/0`,
    PLAIN_MYSQL: `mysql://${mysql.config.user}:${mysql.config.password}@${mysql.config.host}:${mysql.config.port}/${mysql.config.database}`,
  };
  const rows = (): Promise<number> => stores.number('SELECT COUNT(*) FROM plain_requests');
  const books: Bookkeeping = {
    // Counting rows would cost more than the inserts.
    stored: async () => (await totalAdded()) - (await queue.getJobCountByTypes('wait', 'active', 'delayed')),
    totals: async () => ({ rows: await rows() }),
    work: async () => ({ ...(await stores.work()), batches: Number.NaN, transactions: Number.NaN }),
    clear: async () => void (await stores.pool.query('TRUNCATE TABLE plain_requests')),
  };
  /** BullMQ numbers jobs from 1. */
  const totalAdded = async (): Promise<number> => Number(await stores.redis.get(queue.toKey('id')));
  return {
    name: 'plain',
    about: await stores.about(),
    paths: (count) => Promise.resolve(Array.from({ length: count }, () => `/h/${newEndpointId()}`)),
    async start(processes) {
      const start = (file: string) => Promise.all(Array.from({ length: processes }, () => startChild(file, env)));
      const [apis, workers] = await Promise.all([start('plain-api.ts'), start('plain-worker.ts')]);
      return {
        ports: apis.map(({ port }) => port),
        pids: { api: apis.map(({ pid }) => pid), worker: workers.map(({ pid }) => pid), ...stores.pids },
        books,
        stop: async () => void (await Promise.all([...apis, ...workers].map((child) => child.end()))),
      };
    },
    async close() {
      await queue.close();
      await stores.close();
    },
  };
}
