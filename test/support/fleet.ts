import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBalancer } from './balancer.ts';
import { eventually, openEnvironment, type Environment } from './environment.ts';
import { startPrivateServers, type PrivateServers } from './private-servers.ts';
import { startRole, type RoleProcess } from './processes.ts';

/** Two API and two worker processes behind a balancer, with a database and a Redis of their own. */
export interface Fleet {
  environment: Environment;
  servers: PrivateServers;
  /** Address of the balancer. */
  url: string;
  apis: RoleProcess[];
  workers: RoleProcess[];
  /** Kills one process and starts another in its place. */
  killApi(index: number): Promise<void>;
  killWorker(index: number): Promise<void>;
  /** Kills Redis and starts it again on its data. */
  killRedis(): Promise<void>;
  stop(): Promise<void>;
}

export async function startFleet(size = { apis: 2, workers: 2 }, extra: Record<string, string> = {}): Promise<Fleet> {
  const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-fleet-'));
  const servers = await startPrivateServers(dataDir);
  const environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
  const env = { ...environment.env, JOB_LOCK_MS: '2000', ...extra };
  const balancer = await startBalancer();
  const start = (role: 'api' | 'worker', count: number): Promise<RoleProcess[]> =>
    Promise.all(Array.from({ length: count }, () => startRole(role, env)));
  const [apis, workers] = await Promise.all([start('api', size.apis), start('worker', size.workers)]);
  for (const api of apis) balancer.backends.add(api);
  const url = `http://127.0.0.1:${balancer.port}`;
  // The balancer probes the processes before it forwards connections.
  await eventually(async () => (await fetch(`${url}/openapi.json`)).ok);
  return {
    environment,
    servers,
    url,
    apis,
    workers,
    async killApi(index) {
      const killed = apis[index] as RoleProcess;
      await killed.end('SIGKILL');
      balancer.backends.delete(killed);
      apis[index] = await startRole('api', env);
      balancer.backends.add(apis[index]);
    },
    async killWorker(index) {
      await workers[index]?.end('SIGKILL');
      workers[index] = await startRole('worker', env);
    },
    async killRedis() {
      const { process: redis } = servers.redis;
      const gone = new Promise((resolve) => redis.once('exit', resolve));
      redis.kill('SIGKILL');
      await gone;
      await servers.restartRedis();
    },
    async stop() {
      await Promise.all([...apis, ...workers].map((role) => role.end()));
      balancer.close();
      await environment.close();
      await servers.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
