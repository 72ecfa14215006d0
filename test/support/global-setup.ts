import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { MysqlConfig, RedisConfig } from '../../src/config.ts';
import { startPrivateServers } from './private-servers.ts';

declare module 'vitest' {
  interface ProvidedContext {
    mysql: MysqlConfig;
    redis: RedisConfig;
  }
}

/**
 * One database server and one Redis for the run, in a temporary directory; each file has its own database and prefix.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-test-'));
  const servers = await startPrivateServers(dataDir);
  project.provide('mysql', servers.mysql.config);
  project.provide('redis', servers.redis.config);
  return async () => {
    await servers.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
