import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { step } from '../../../src/local/progress.ts';
import { openMaintenanceQueue, requestSweep } from '../../../src/queue/maintenance-queue.ts';
import { client, mintToken, type Client } from '../../support/client.ts';
import { eventually, openEnvironment, type Environment } from '../../support/environment.ts';
import { scrape } from '../../support/exposition.ts';
import { startPrivateServers } from '../../support/private-servers.ts';
import { startRole } from '../../support/processes.ts';
import { cpuMs } from '../cpu.ts';
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
  /** Shortens the owner's retention by a day. */
  retireADay(): Promise<void>;
  /** Runs a sweep until it has removed rows, and returns how many. */
  sweep(kind: 'retired' | 'purged'): Promise<number>;
  remove: () => Promise<void>;
}

export async function install(count: number, endpoints: number, rounds: number): Promise<Installation> {
  const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-bench-'));
  const servers = await startPrivateServers(dataDir);
  const environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
  const { pool } = environment.db;
  const env = { ...environment.env, PLANS: JSON.stringify(plansOf(rounds)) };
  const api = await startRole('api', env);
  let days = RETENTION_DAYS;
  let owner = ownerOf(api.url, days);

  const ids: string[] = [];
  while (ids.length < endpoints) ids.push((await owner.create()).body.id);
  const name = `${count} entries`;
  const rows = await step(`Storing ${name} of ${endpoints} endpoints`, () =>
    filling(pool, () => storeRows(pool, ids, count, rounds)),
  );
  const worker = await startRole('worker', env);
  const maintenance = openMaintenanceQueue(environment.redis, environment.config.redis.prefix);
  const swept = async (kind: string): Promise<number> =>
    (await scrape(worker.internalPort)).value('hookbay_swept_rows_total', { kind }) ?? 0;

  const pids = {
    api: api.child.pid,
    worker: worker.child.pid,
    database: servers.mysql.process.pid,
    redis: servers.redis.process.pid,
  };
  return {
    name,
    url: api.url,
    rows,
    environment,
    get owner() {
      return owner;
    },
    cpu() {
      return Object.fromEntries(
        Object.entries(pids).map(([part, pid]) => [part, cpuMs(pid as number)]),
      ) as unknown as Cpu;
    },
    async retireADay() {
      owner = ownerOf(api.url, (days -= 1));
      await owner.endpoints('?limit=1');
    },
    async sweep(kind) {
      const before = await swept(kind);
      await requestSweep(maintenance);
      let removed = 0;
      await eventually(async () => (removed = (await swept(kind)) - before) > 0, 120_000);
      return removed;
    },
    async remove() {
      await Promise.all([api.end(), worker.end()]);
      await environment.close();
      await servers.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function ownerOf(url: string, days: number): Client {
  return client(url, mintToken('bench', { plan: planName(days) }, { expiresIn: '24h' }));
}

function planName(days: number): string {
  return `keep-${days}`;
}

function plansOf(rounds: number): Record<string, object> {
  const days = Array.from({ length: rounds + 1 }, (_, round) => RETENTION_DAYS - round);
  const unlimited = { dailyRequests: null, endpoints: null };
  return Object.fromEntries(days.map((retentionDays) => [planName(retentionDays), { ...unlimited, retentionDays }]));
}
