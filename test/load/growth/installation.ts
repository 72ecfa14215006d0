import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'mysql2/promise';
import { step } from '../../../src/local/progress.ts';
import { openMaintenanceQueue, requestSweep } from '../../../src/queue/maintenance-queue.ts';
import { client, mintToken, type Client } from '../../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../../support/environment.ts';
import { startPrivateServers } from '../../support/private-servers.ts';
import { startRole } from '../../support/processes.ts';
import { openCpuMeter } from '../bench/cpu.ts';
import { RETENTION_DAYS, filling, storeRows, type Rows } from './rows.ts';

export interface Cpu {
  api: number;
  worker: number;
  database: number;
  redis: number;
}

/** An installation with servers and processes of its own, so that each has its own buffer pool and accounts. */
export interface Installation {
  name: string;
  url: string;
  rows: Rows;
  environment: Environment;
  owner: Client;
  /** Milliseconds used so far. */
  cpu(): Cpu;
  /** Entries of a page: each endpoint has as many, with the fewest entries, too. */
  page: number;
  /** Shortens the owner's retention by a day. */
  retireADay(): Promise<void>;
  /** Makes something for a sweep, which it then runs until it has removed rows; returns how many. */
  sweep(kind: 'retired' | 'purged', make: () => Promise<unknown>): Promise<number>;
  remove: () => Promise<void>;
}

/** What an installation stores; with `poolMb` the database gets a buffer pool of so many MB once it is filled. */
export interface Size {
  count: number;
  poolMb?: number | undefined;
}

export async function install(
  { count, poolMb }: Size,
  endpoints: number,
  days: number,
  page: number,
): Promise<Installation> {
  const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-bench-'));
  const servers = await startPrivateServers(dataDir);
  const environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
  const { pool } = environment.db;
  const env = { ...environment.env, PLANS: JSON.stringify(plansOf(days)) };
  const api = await startRole('api', env);
  let keptDays = RETENTION_DAYS;
  let owner = ownerOf(api.url, keptDays);

  const ids: string[] = [];
  while (ids.length < endpoints) ids.push((await owner.create()).body.id);
  const name = `${count} entries${poolMb === undefined ? '' : `, ${poolMb} MB`}`;
  const rows = await step(`Storing ${name} of ${endpoints} endpoints`, () =>
    filling(pool, () => storeRows(pool, ids, count, days)),
  );
  if (poolMb !== undefined) await shrinkPool(pool, poolMb * 2 ** 20);
  const worker = await startRole('worker', env);
  const maintenance = openMaintenanceQueue(environment.redis, environment.config.redis.prefix);
  // From its log, because its metrics would cost it something.
  const swept = (kind: string): number => worker.log.reduce((sum, entry) => sum + Number(entry[kind] ?? 0), 0);

  const meters = {
    api: openCpuMeter(api.child.pid as number),
    worker: openCpuMeter(worker.child.pid as number),
    database: openCpuMeter(servers.mysql.process.pid as number),
    redis: openCpuMeter(servers.redis.process.pid as number),
  };
  return {
    name,
    url: api.url,
    rows,
    environment,
    page,
    get owner() {
      return owner;
    },
    cpu: () => ({
      api: meters.api(),
      worker: meters.worker(),
      database: meters.database(),
      redis: meters.redis(),
    }),
    async retireADay() {
      owner = ownerOf(api.url, (keptDays -= 1));
      await owner.endpoints('?limit=1');
    },
    async sweep(kind, make) {
      const before = swept(kind);
      await make();
      await requestSweep(maintenance);
      await eventually(() => swept(kind) > before, 120_000);
      return swept(kind) - before;
    },
    async remove() {
      await Promise.all([api.end(), worker.end()]);
      await environment.close();
      await servers.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function shrinkPool(pool: Pool, bytes: number): Promise<void> {
  await pool.query(`SET GLOBAL innodb_buffer_pool_size = ${bytes}`);
  await eventually(async () => {
    const [rows] = await pool.query('SELECT @@innodb_buffer_pool_size AS bytes');
    return (rows as { bytes: number }[])[0]?.bytes === bytes;
  });
}

function ownerOf(url: string, days: number): Client {
  return client(url, mintToken('bench', { plan: planName(days) }, { expiresIn: '24h' }));
}

function planName(days: number): string {
  return `keep-${days}`;
}

function plansOf(days: number): Record<string, object> {
  const kept = Array.from({ length: days + 1 }, (_, day) => RETENTION_DAYS - day);
  const unlimited = { dailyRequests: null, endpoints: null };
  return Object.fromEntries(kept.map((retentionDays) => [planName(retentionDays), { ...unlimited, retentionDays }]));
}
