import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import type { MysqlConfig, RedisConfig } from '../config.ts';
import { UserError } from '../user-error.ts';
import { tlsOptions } from '../redis/node-options.ts';
import type { Database } from '../store/database.ts';

/* Checks before anything slow is started; each error says what to do. */

/** @throws UserError when the port is in use */
export function checkPort(port: number): Promise<void> {
  if (port === 0) throw new UserError('PORT must be a port from 1 to 65535 for npm start');
  return new Promise((done, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => {
      socket.destroy();
      reject(
        new UserError(
          `PORT must be a free port, and ${port} is in use. Choose another one: PORT=8081 DATA_DIR=.hookbay-2 npm start`,
        ),
      );
    });
    socket.on('error', () => done());
  });
}

/** @throws UserError when it is not writable */
export function makeDataDir(dataDir: string): void {
  // Node's recursive mkdir hangs in some places, for example /proc.
  let existing = dataDir;
  while (!existsSync(existing)) existing = dirname(existing);
  try {
    if (!statSync(existing).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' });
    accessSync(existing, constants.W_OK | constants.X_OK);
    for (const name of dataDir.slice(existing.length).split('/').filter(Boolean)) {
      existing = join(existing, name);
      mkdirSync(existing, { mode: 0o700 });
    }
  } catch (error) {
    throw new UserError(
      `DATA_DIR must be a folder that this user can write to: ${dataDir} (${(error as { code?: string }).code})`,
    );
  }
}

/** @throws UserError that names the setting with a wrong address or password */
export async function checkStores(
  { mysql, redis }: { mysql: MysqlConfig; redis: RedisConfig },
  db: Database,
): Promise<void> {
  try {
    await db.pool.query('SELECT 1');
  } catch (error) {
    throw new UserError(`MYSQL_URL: ${mysqlProblem(mysql, error as { code?: string })}`);
  }
  await checkRedis(redis);
}

function mysqlProblem({ host, port, user, database }: MysqlConfig, { code }: { code?: string }): string {
  if (code === 'ER_ACCESS_DENIED_ERROR') return `${host}:${port} refuses user ${user}. Check user and password.`;
  if (code === 'ER_BAD_DB_ERROR')
    return `${host}:${port} has no database ${database}. Make it: CREATE DATABASE \`${database}\``;
  if (code === 'ER_DBACCESS_DENIED_ERROR')
    return `user ${user} may not use database ${database} on ${host}:${port}. GRANT it.`;
  return `there is no database at ${host}:${port} (${code ?? 'no answer'})`;
}

async function checkRedis({ host, port, username, password, db, tls }: RedisConfig): Promise<void> {
  const redis = new Redis({
    host,
    port,
    db,
    lazyConnect: true,
    connectTimeout: 3_000,
    commandTimeout: 3_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...tlsOptions({ tls, host }),
  });
  let problem = '';
  redis.on('error', (error: Error) => (problem ||= error.message));
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    const why = problem || (error as Error).message;
    const refused = /WRONGPASS|NOAUTH|invalid password/i.test(`${why} ${(error as Error).message}`);
    throw new UserError(
      `REDIS_URL: ${refused ? `${host}:${port} refuses the password. Check user and password.` : `there is no Redis at ${host}:${port} (${why})`}`,
    );
  } finally {
    redis.disconnect();
  }
}
