import { claimDataDir } from '../../src/local/processes.ts';
import { findOrInstallPrograms } from '../../src/local/programs.ts';
import { readOrMakeSecrets, type PrivateServer } from '../../src/local/private-server.ts';
import { startMysql } from '../../src/local/mysql.ts';
import { startRedis } from '../../src/local/redis.ts';
import type { MysqlConfig, RedisConfig } from '../../src/config.ts';

/** A database and a Redis that a test can stop, kill and start again on the same data and ports. */
export interface PrivateServers {
  mysql: PrivateServer<MysqlConfig>;
  redis: PrivateServer<RedisConfig>;
  restartMysql(): Promise<void>;
  restartRedis(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPrivateServers(dataDir: string): Promise<PrivateServers> {
  const programs = await findOrInstallPrograms();
  const registry = await claimDataDir(dataDir);
  const { mysqlPassword, redisPassword } = readOrMakeSecrets(dataDir);
  const servers: PrivateServers = {
    mysql: await startMysql(programs, registry, dataDir, mysqlPassword),
    redis: await startRedis(programs, registry, dataDir, redisPassword),
    async restartMysql() {
      servers.mysql = await startMysql(programs, registry, dataDir, mysqlPassword, servers.mysql.config.port);
    },
    async restartRedis() {
      servers.redis = await startRedis(programs, registry, dataDir, redisPassword, servers.redis.config.port);
    },
    async stop() {
      await Promise.all([servers.mysql.stop(), servers.redis.stop()]);
      registry.release();
    },
  };
  return servers;
}

/** A Redis alone, for a test that changes its settings. */
export async function startPrivateRedis(dataDir: string): Promise<PrivateServer<RedisConfig>> {
  const programs = await findOrInstallPrograms();
  const registry = await claimDataDir(dataDir);
  const redis = await startRedis(programs, registry, dataDir, readOrMakeSecrets(dataDir).redisPassword);
  return {
    ...redis,
    async stop() {
      await redis.stop();
      registry.release();
    },
  };
}
