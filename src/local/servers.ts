import { execFile, execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ChildProcess } from 'node:child_process';
import { Redis } from 'ioredis';
import { createConnection } from 'mysql2/promise';
import type { MysqlConfig, RedisConfig } from '../config.ts';
import { stopProcess, type ProcessRegistry } from './processes.ts';
import { step } from './progress.ts';
import type { Programs } from './programs.ts';

const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const DATABASE = 'hookbay';

/** Of MySQL alone, which otherwise wants a folder that only Debian's full package makes. */
const NO_FILES = '--secure-file-priv=NULL';

const run = promisify(execFile);

/** Passwords of the private servers and the key of local tokens; made once for a data directory. */
export interface Secrets {
  mysqlPassword: string;
  redisPassword: string;
  jwtSecret: string;
}

/** A running private server; `stop` resolves when it has gone. */
export interface PrivateServer<C> {
  config: C;
  process: ChildProcess;
  stop(): Promise<void>;
}

export function readOrMakeSecrets(dataDir: string): Secrets {
  const file = join(dataDir, 'secrets.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Secrets;
  const secret = (): string => randomBytes(32).toString('hex');
  const secrets: Secrets = { mysqlPassword: secret(), redisPassword: secret(), jwtSecret: secret() };
  writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
  return secrets;
}

/**
 * Starts MariaDB or MySQL on `<dataDir>/mysql`, on loopback only, with nothing of the system's configuration.
 * A data directory that does not exist yet is made first.
 *
 * @throws Error with the end of the server's log when it does not come up
 */
export async function startMysql(
  programs: Programs,
  registry: ProcessRegistry,
  dataDir: string,
  password: string,
  port?: number,
): Promise<PrivateServer<MysqlConfig>> {
  const dataFolder = join(dataDir, 'mysql');
  const asUser = process.getuid?.() === 0 ? [`--user=${userInfo().username}`] : [];
  if (!existsSync(dataFolder)) await step('Preparing a private database', () => initialize(programs.database, dataFolder, asUser));

  const config: MysqlConfig = { host: HOST, port: port ?? (await freePort()), user: 'hookbay', password, database: DATABASE, tls: false, poolSize: 10 };
  const initFile = join(dataDir, 'mysql-init.sql');
  writeFileSync(initFile, accounts(password), { mode: 0o600 });
  const logFile = join(dataDir, 'mysql.log');
  const child = registry.start(
    'mysql',
    programs.database,
    [
      '--no-defaults',
      `--datadir=${dataFolder}`,
      ...asUser,
      `--bind-address=${HOST}`,
      `--port=${config.port}`,
      // Socket paths have about 100 characters at most, and data directories may have more.
      `--socket=${join(tmpdir(), `hookbay-${createHash('sha256').update(dataFolder).digest('hex').slice(0, 16)}.sock`)}`,
      `--pid-file=${join(dataDir, 'mysql.pid')}`,
      // In a common folder, servers remove each other's temporary tables when they start.
      `--tmpdir=${temporaryFolder(dataFolder)}`,
      `--init-file=${initFile}`,
      '--skip-name-resolve',
      '--character-set-server=utf8mb4',
      '--collation-server=utf8mb4_bin',
      '--max-allowed-packet=64M',
      '--max-connections=500',
      '--innodb-buffer-pool-size=256M',
      '--innodb-flush-log-at-trx-commit=1',
      '--skip-log-bin',
      ...(isMariadb(programs.database) ? [] : ['--mysqlx=OFF', NO_FILES]),
    ],
    { logFile },
  );
  await untilReady(child, logFile, async () => {
    const connection = await createConnection({ ...connectionOptions(config), connectTimeout: 1_000 });
    await connection.end();
  });
  return privateServer(config, child);
}

/**
 * Starts Redis or Valkey on `<dataDir>/redis`, on loopback only, with every write on disk before it is answered.
 *
 * @throws Error with the end of the server's log when it does not come up
 */
export async function startRedis(
  programs: Programs,
  registry: ProcessRegistry,
  dataDir: string,
  password: string,
  port?: number,
): Promise<PrivateServer<RedisConfig>> {
  const folder = join(dataDir, 'redis');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const config: RedisConfig = {
    host: HOST,
    port: port ?? (await freePort()),
    username: undefined,
    password,
    db: 0,
    tls: false,
    prefix: 'hookbay',
  };
  const configFile = join(dataDir, 'redis.conf');
  const settings = [
    `bind ${HOST}`,
    `port ${config.port}`,
    `dir ${JSON.stringify(folder)}`,
    `requirepass ${password}`,
    'appendonly yes',
    'appendfsync always',
    'no-appendfsync-on-rewrite no',
    'maxmemory-policy noeviction',
    'save ""',
  ];
  writeFileSync(configFile, `${settings.join('\n')}\n`, { mode: 0o600 });
  const logFile = join(dataDir, 'redis.log');
  const child = registry.start('redis', redisServer(programs.redis, dataDir), [configFile], { logFile });
  await untilReady(child, logFile, async () => {
    const redis = new Redis({ host: HOST, port: config.port, password, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    redis.on('error', () => {});
    try {
      await redis.connect();
      await redis.ping();
    } finally {
      redis.disconnect();
    }
  });
  return privateServer(config, child);
}

/** How the private servers' clients connect to the database. */
export function connectionOptions({ host, port, user, password, database }: MysqlConfig) {
  return { host, port, user, password, database };
}

/** A port on loopback that nobody listens on right now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, HOST, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Made under another name first, so that a run that was killed leaves nothing half-made behind. */
async function initialize(program: string, dataFolder: string, asUser: string[]): Promise<void> {
  const unfinished = `${dataFolder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  if (isMariadb(program)) {
    const installer = ['mariadb-install-db', 'mysql_install_db'].flatMap((name) =>
      [join(dirname(program), '../bin'), join(dirname(program), '../scripts'), dirname(program)].map((folder) => join(folder, name)),
    ).find(existsSync);
    if (installer === undefined) throw new Error(`mariadb-install-db was not found near ${program}`);
    // By its name alone: the script breaks on a path with a space in it. The server has the data directory for its own.
    const how = ['--no-defaults', `--datadir=./${basename(unfinished)}`, ...asUser, '--auth-root-authentication-method=normal', '--skip-test-db', `--tmpdir=../${basename(temporaryFolder(dataFolder))}`];
    await run(installer, how, { cwd: dirname(unfinished) });
  } else {
    mkdirSync(unfinished, { mode: 0o700 });
    const folders = [`--datadir=${unfinished}`, `--tmpdir=${temporaryFolder(dataFolder)}`];
    await run(program, ['--no-defaults', '--initialize-insecure', NO_FILES, ...folders, ...asUser]);
  }
  renameSync(unfinished, dataFolder);
}

function temporaryFolder(dataFolder: string): string {
  const folder = `${dataFolder}-tmp`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Runs at every start of the server; each statement on a line of its own. */
function accounts(password: string): string {
  return [
    `CREATE DATABASE IF NOT EXISTS ${DATABASE};`,
    `CREATE USER IF NOT EXISTS 'hookbay'@'${HOST}' IDENTIFIED BY '${password}';`,
    `GRANT ALL ON *.* TO 'hookbay'@'${HOST}' WITH GRANT OPTION;`,
    `ALTER USER 'root'@'localhost' IDENTIFIED BY '${password}';`,
    '',
  ].join('\n');
}

function isMariadb(program: string): boolean {
  return /mariadb/i.test(execFileSync(program, ['--no-defaults', '--version'], { encoding: 'utf8' }));
}

/** Debian's redis-tools has the server under another name; it becomes a server by the name that it is called by. */
function redisServer(program: string, dataDir: string): string {
  const name = basename(program).replace('-check-rdb', '-server');
  if (name === basename(program)) return program;
  const alias = join(dataDir, name);
  rmSync(alias, { force: true });
  symlinkSync(program, alias);
  return alias;
}

async function untilReady(child: ChildProcess, logFile: string, probe: () => Promise<void>): Promise<void> {
  let spawnError: Error | undefined;
  child.on('error', (error) => (spawnError = error));
  for (let waited = 0; waited < START_TIMEOUT_MS; waited += POLL_MS) {
    if (spawnError !== undefined) throw spawnError;
    if (child.exitCode !== null || child.signalCode !== null) break;
    try {
      return await probe();
    } catch {
      await sleep(POLL_MS);
    }
  }
  throw new Error(`${child.spawnfile} did not start. The end of ${logFile}:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`);
}

function privateServer<C>(config: C, child: ChildProcess): PrivateServer<C> {
  return {
    config,
    process: child,
    async stop() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) await stopProcess(child.pid);
    },
  };
}
