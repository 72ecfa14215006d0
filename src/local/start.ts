import { resolve } from 'node:path';
import jwt from 'jsonwebtoken';
import type { Config, MysqlConfig, RedisConfig } from '../config.ts';
import { largestBody } from '../plans.ts';
import type { Resources } from '../resources.ts';
import { openDatabase } from '../store/database.ts';
import { checkPacketSize, migrate } from '../store/migrations.ts';
import { checkPort, checkStores, makeDataDir } from './checks.ts';
import { claimDataDir, parentOf } from './processes.ts';
import { findOrInstallPrograms } from './programs.ts';
import { say, step } from './progress.ts';
import { startPrivate, startRole, type LocalContext } from './roles.ts';
import { freePort, readOrMakeSecrets } from './private-server.ts';
import { startMysql } from './mysql.ts';
import { startRedis } from './redis.ts';

const TOKEN_SECONDS = 86_400;
const TOKEN_SUBJECT = 'you';
const TOKEN_PLAN = 'pro';

interface Stores {
  mysql: MysqlConfig;
  redis: RedisConfig;
}

/**
 * `npm start`: private servers (or the user's own, where their address is set), the schema, one API and one worker
 * process, and a curl sequence to paste. Closing `resources` stops all of them in order.
 * @throws UserError that says how to fix it
 */
export async function startLocal(config: Config, resources: Resources): Promise<void> {
  stopWithParent();
  await checkPort(config.port);
  const dataDir = resolve(config.dataDir);
  makeDataDir(dataDir);
  const registry = resources.add(await claimDataDir(dataDir), (claimed) => claimed.release());
  let started = false;
  resources.add(dataDir, (folder) => {
    if (started) say(`Stopped. The data is in ${folder}.`);
  });
  const context = { registry, resources, dataDir };

  const stores = await openStores(config, context);
  started = true;
  await prepareSchema(config, stores);
  const jwtSecret = config.jwt.secret || readOrMakeSecrets(dataDir).jwtSecret;
  const env = roleEnvironment(config, stores, jwtSecret);
  await step('Starting API and worker', async () => {
    const [apiPort, workerPort] = [process.env['INTERNAL_PORT'] || (await freePort()), await freePort()];
    await Promise.all([
      startRole('api', { ...env, INTERNAL_PORT: String(apiPort) }, context),
      startRole('worker', { ...env, INTERNAL_PORT: String(workerPort) }, context),
    ]);
  });
  resources.add(undefined, () => say('Stopping …'));
  sayHowToUse(config, jwtSecret, dataDir);
}

async function openStores({ external, mysql, redis }: Config, context: LocalContext): Promise<Stores> {
  if (external.mysql && external.redis) return { mysql, redis };
  const { registry, dataDir } = context;
  const programs = await findOrInstallPrograms();
  const { mysqlPassword, redisPassword } = readOrMakeSecrets(dataDir);
  return {
    mysql: external.mysql
      ? mysql
      : await startPrivate('database', context, () => startMysql(programs, registry, dataDir, mysqlPassword)),
    redis: external.redis
      ? redis
      : await startPrivate('Redis', context, () => startRedis(programs, registry, dataDir, redisPassword)),
  };
}

async function prepareSchema(config: Config, stores: Stores): Promise<void> {
  const db = openDatabase(stores.mysql, { silenceMs: 0 });
  try {
    await checkStores(stores, db);
    await checkPacketSize(db, largestBody(config.plans));
    await step('Bringing the database schema up to date', () => migrate(db));
  } finally {
    await db.close();
  }
}

/** One setting a value, so that nothing has to be escaped; the URL forms are cleared. */
function roleEnvironment(config: Config, { mysql, redis }: Stores, jwtSecret: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOST: process.env['HOST'] || '127.0.0.1',
    PORT: String(config.port),
    BASE_URL: config.baseUrl,
    // Only the printed tokens, and others with this key, are valid.
    JWT_SECRET: jwtSecret,
    JWT_PUBLIC_KEY: '',
    JWKS_URL: '',
    MYSQL_URL: '',
    MYSQL_HOST: mysql.host,
    MYSQL_PORT: String(mysql.port),
    MYSQL_USER: mysql.user,
    MYSQL_PASSWORD: mysql.password,
    MYSQL_DATABASE: mysql.database,
    MYSQL_TLS: String(mysql.tls),
    REDIS_URL: '',
    REDIS_HOST: redis.host,
    REDIS_PORT: String(redis.port),
    REDIS_USERNAME: redis.username ?? '',
    REDIS_PASSWORD: redis.password ?? '',
    REDIS_DB: String(redis.db),
    REDIS_TLS: String(redis.tls),
  };
}

/** A killed npm forwards no signal: without npm, and the shell that it runs scripts in, this process would stay. */
function stopWithParent(): void {
  const ancestors = (): string => `${process.ppid} ${parentOf(process.ppid)}`;
  const before = ancestors();
  setInterval(() => {
    if (ancestors() !== before) process.kill(process.pid, 'SIGTERM');
  }, 1_000).unref();
}

function sayHowToUse({ baseUrl, page }: Config, jwtSecret: string, dataDir: string): void {
  const token = jwt.sign({ plan: TOKEN_PLAN }, jwtSecret, {
    algorithm: 'HS256',
    subject: TOKEN_SUBJECT,
    expiresIn: TOKEN_SECONDS,
  });
  const link = `Open ${baseUrl}/#token=${token}
and you are signed in.

`;
  say(`
Hookbay is ready at ${baseUrl}

${page ? link : ''}A token for user "${TOKEN_SUBJECT}", plan "${TOKEN_PLAN}", valid for a day. Paste this into another terminal:

  TOKEN=${token}

  # create an endpoint
  URL=$(curl -s -X POST ${baseUrl}/api/endpoints -H "Authorization: Bearer $TOKEN" | sed 's/.*"url":"\\([^"]*\\)".*/\\1/'); echo "$URL"

  # send to it
  curl -s "$URL" -H 'Content-Type: application/json' -d '{"hello":"world"}'; echo

  # list what it captured
  curl -s "${baseUrl}/api/endpoints/\${URL##*/}/requests" -H "Authorization: Bearer $TOKEN"; echo

Logs and data are in ${dataDir}. Ctrl-C stops everything; the data stays.`);
}
