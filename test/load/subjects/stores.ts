import { Redis } from 'ioredis';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { connectionOptions } from '../../../src/local/mysql.ts';
import { startPrivateServers, type PrivateServers } from '../../support/private-servers.ts';
import type { Work } from './subject.ts';

/** A database and a Redis of one subject alone, so that its costs are known by process. */
export interface Stores {
  servers: PrivateServers;
  pool: Pool;
  redis: Redis;
  pids: { redis: number[]; database: number[] };
  /** One number of a statement. */
  number(sql: string): Promise<number>;
  work(): Promise<Pick<Work, 'redisReads' | 'statements'>>;
  /** Versions and what they say about durability. */
  about(): Promise<string>;
  close(): Promise<void>;
}

export async function openStores(dataDir: string): Promise<Stores> {
  const servers = await startPrivateServers(dataDir);
  const { host, port, password } = servers.redis.config;
  const redis = new Redis({ host, port, ...(password !== undefined && { password }) });
  const pool = createPool({ ...connectionOptions(servers.mysql.config), connectionLimit: 2 });
  async function firstRow(sql: string): Promise<RowDataPacket> {
    const [rows] = await pool.query<RowDataPacket[]>(sql);
    return rows[0] as RowDataPacket;
  }
  const redisInfo = async (name: string): Promise<string> =>
    new RegExp(`^${name}:(.*)\r$`, 'm').exec(await redis.info('everything'))?.[1] ?? '';
  return {
    servers,
    pool,
    redis,
    pids: { redis: [servers.redis.process.pid as number], database: [servers.mysql.process.pid as number] },
    number: async (sql) => Number(Object.values(await firstRow(sql))[0] ?? 0),
    work: async () => ({
      redisReads: Number(await redisInfo('total_reads_processed')),
      statements: Number((await firstRow("SHOW GLOBAL STATUS LIKE 'Questions'"))['Value']),
    }),
    async about() {
      const row = await firstRow('SELECT VERSION() AS version, @@innodb_flush_log_at_trx_commit AS flush');
      const [, fsync] = await redis.config('GET', 'appendfsync');
      return (
        `Redis ${await redisInfo('redis_version')} (appendfsync ${fsync}), database ${row['version']} ` +
        `(innodb_flush_log_at_trx_commit ${row['flush']})`
      );
    },
    async close() {
      redis.disconnect();
      await pool.end();
      await servers.stop();
    },
  };
}
