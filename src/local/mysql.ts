import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';
import type { MysqlConfig } from '../config.ts';
import { freePort, HOST, privateServer, untilReady, type PrivateServer } from './private-server.ts';
import type { ProcessRegistry } from './processes.ts';
import { step } from './progress.ts';
import type { Programs } from './programs.ts';

const DATABASE = 'hookbay';

/** For MySQL only: by default it needs a folder that only Debian's full package creates. */
const NO_FILES = '--secure-file-priv=NULL';

const run = promisify(execFile);

/**
 * Starts MariaDB or MySQL on `<dataDir>/mysql`, on loopback only, without the system's configuration. Creates a missing
 * data directory first.
 * @throws Error with the end of the server's log when it does not start
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
  if (!existsSync(dataFolder))
    await step('Preparing a private database', () => initialize(programs.database, dataFolder, asUser));

  const config: MysqlConfig = {
    host: HOST,
    port: port ?? (await freePort()),
    user: 'hookbay',
    password,
    database: DATABASE,
    tls: false,
    poolSize: 10,
  };
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
      // Socket paths are limited to about 100 characters, and data directories may be longer.
      `--socket=${join(tmpdir(), `hookbay-${createHash('sha256').update(dataFolder).digest('hex').slice(0, 16)}.sock`)}`,
      `--pid-file=${join(dataDir, 'mysql.pid')}`,
      // In a shared folder, servers remove each other's temporary tables when they start.
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

export function connectionOptions({ host, port, user, password, database }: MysqlConfig) {
  return { host, port, user, password, database };
}

/** Creates the directory under another name first, so that a killed run leaves no incomplete one. */
async function initialize(program: string, dataFolder: string, asUser: string[]): Promise<void> {
  const unfinished = `${dataFolder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  if (isMariadb(program)) {
    const installer = ['mariadb-install-db', 'mysql_install_db']
      .flatMap((name) =>
        [join(dirname(program), '../bin'), join(dirname(program), '../scripts'), dirname(program)].map((folder) =>
          join(folder, name),
        ),
      )
      .find(existsSync);
    if (installer === undefined) throw new Error(`mariadb-install-db was not found near ${program}`);
    // By relative name: the script fails on a path with a space. The server creates no files outside the data
    // directory.
    const how = [
      '--no-defaults',
      `--datadir=./${basename(unfinished)}`,
      ...asUser,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      `--tmpdir=../${basename(temporaryFolder(dataFolder))}`,
    ];
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

/** Runs at every start of the server; each statement must be on one line. */
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
