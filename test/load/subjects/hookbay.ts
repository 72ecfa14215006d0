import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Pool } from 'mysql2/promise';
import { idToBytes, newEndpointId } from '../../../src/domain/ids.ts';
import { client, mintToken } from '../../support/client.ts';
import { environmentVariables } from '../../support/environment.ts';
import { scrape } from '../../support/exposition.ts';
import { startRole, type RoleProcess } from '../../support/processes.ts';
import { openStores, type Stores } from './stores.ts';
import type { Bookkeeping, Subject } from './subject.ts';

const INSERT_AT_ONCE = 5_000;

/** The quota counts, and no run reaches it. */
const PLANS = JSON.stringify({ enterprise: { dailyRequests: 1_000_000_000 } });

/** Hookbay from a checkout that has its own `node_modules`, with its settings by default. */
export async function openHookbay(name: 'hookbay' | 'against', folder: string, dataDir: string): Promise<Subject> {
  const stores = await openStores(dataDir);
  const main = join(folder, 'src/main.ts');
  const { mysql, redis } = stores.servers;
  const env = { ...environmentVariables(mysql.config, redis.config), PLANS };
  await promisify(execFile)(process.execPath, [main, 'migrate'], { env: { ...process.env, ...env } });
  const ids: string[] = [];
  return {
    name,
    about: `${await revisionOf(folder)}; ${await stores.about()}`,
    async paths(count) {
      const missing = Array.from({ length: Math.max(0, count - ids.length) }, newEndpointId);
      await storeEndpoints(stores.pool, missing, ids.length);
      ids.push(...missing);
      return ids.slice(0, count).map((id) => `/h/${id}`);
    },
    async start(processes) {
      const start = (role: 'api' | 'worker') =>
        Promise.all(Array.from({ length: processes }, () => startRole(role, env, { main })));
      const [apis, workers] = await Promise.all([start('api'), start('worker')]);
      const pidsOf = (roles: RoleProcess[]): number[] => roles.map(({ child }) => child.pid as number);
      return {
        ports: apis.map(({ port }) => port),
        pids: { api: pidsOf(apis), worker: pidsOf(workers), ...stores.pids },
        books: bookkeeping(stores, apis, workers),
        stop: async () => void (await Promise.all([...apis, ...workers].map((role) => role.end()))),
      };
    },
    close: () => stores.close(),
  };
}

function bookkeeping(stores: Stores, apis: RoleProcess[], workers: RoleProcess[]): Bookkeeping {
  const stored = (): Promise<number> => stores.number('SELECT SUM(request_count) FROM endpoints');
  return {
    stored,
    async totals() {
      const firstUser = client(apis[0]?.url ?? '', mintToken(userId(0), { plan: 'enterprise' }));
      const others = `SELECT SUM(accepted) FROM daily_usage WHERE user_id <> '${userId(0)}'`;
      const { usage } = (await firstUser.endpoints()).body;
      return {
        rows: await stores.number('SELECT COUNT(*) FROM requests'),
        request_count: await stored(),
        dailyRequests: usage.dailyRequests + (await stores.number(others)),
      };
    },
    async work() {
      const sum = async (roles: RoleProcess[], metric: string): Promise<number> => {
        const values = roles.map(async ({ internalPort }) => (await scrape(internalPort)).value(metric) ?? 0);
        return (await Promise.all(values)).reduce((total, value) => total + value, 0);
      };
      return {
        ...(await stores.work()),
        batches: await sum(apis, 'hookbay_batch_captures_count'),
        transactions: await sum(workers, 'hookbay_persist_seconds_count'),
      };
    },
    clear: async () => void (await stores.pool.query('TRUNCATE TABLE requests')),
  };
}

function userId(index: number): string {
  return `bench-${index}`;
}

/** Permanent endpoints, each of a new user. */
async function storeEndpoints(pool: Pool, ids: readonly string[], firstIndex: number): Promise<void> {
  const now = new Date();
  for (let start = 0; start < ids.length; start += INSERT_AT_ONCE) {
    const some = ids.slice(start, start + INSERT_AT_ONCE);
    const userOf = (i: number): Buffer => Buffer.from(userId(firstIndex + start + i));
    await pool.query('INSERT INTO users (id, plan, created_at, updated_at) VALUES ?', [
      some.map((_id, i) => [userOf(i), 'enterprise', now, now]),
    ]);
    await pool.query('INSERT INTO endpoints (id, user_id, is_permanent, created_at, updated_at) VALUES ?', [
      some.map((id, i) => [idToBytes(id), userOf(i), 1, now, now]),
    ]);
  }
}

async function revisionOf(folder: string): Promise<string> {
  const describe = promisify(execFile)('git', ['-C', folder, 'describe', '--always', '--dirty']);
  return describe.then(
    ({ stdout }) => `revision ${stdout.trim()}`,
    () => 'no revision',
  );
}
