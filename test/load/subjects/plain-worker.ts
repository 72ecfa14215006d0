/* … and each job is an INSERT of its own. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { PLAIN_QUEUE, type PlainCapture } from './plain-capture.ts';

/** As many as the pool has connections. */
const CONCURRENCY = 10;

const INSERT =
  'INSERT INTO plain_requests (id, endpoint_id, method, path, headers, ip, body) VALUES (?, ?, ?, ?, ?, ?, ?)';

const redis = new Redis(process.env['PLAIN_REDIS'] as string, { maxRetriesPerRequest: null });
const pool = createPool({ uri: process.env['PLAIN_MYSQL'] as string, connectionLimit: CONCURRENCY });
const worker = new Worker<PlainCapture>(
  PLAIN_QUEUE,
  async ({ data: { id, endpointId, method, path, headers, ip, body } }) => {
    await pool.execute(INSERT, [id, endpointId, method, path, JSON.stringify(headers), ip, body]);
  },
  { connection: redis, concurrency: CONCURRENCY },
);
worker.on('error', (error) => process.stderr.write(`${String(error)}\n`));
await worker.waitUntilReady();
process.on('disconnect', () => process.exit());
process.send?.({ port: 0 });
