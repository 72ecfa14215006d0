import { spawn } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { UserError } from '../user-error.ts';
import { step } from './progress.ts';

/** Folders of servers that may not be on the PATH. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/usr/libexec'];

/** Servers only: `mariadb-server` and `redis-server` would also start services on the standard ports. */
const DEBIAN_PACKAGES = ['mariadb-server-core', 'mariadb-client-core', 'redis-tools'];

export interface Programs {
  database: string;
  redis: string;
}

/** @throws UserError with the command to run, where apt cannot install the missing ones */
export async function findOrInstallPrograms(): Promise<Programs> {
  const found = findPrograms();
  if (found !== undefined) return found;
  await installWithApt('MariaDB and Redis', DEBIAN_PACKAGES, howToInstall());
  const installed = findPrograms();
  if (installed === undefined) throw new UserError(howToInstall());
  return installed;
}

/** The browser of tests. Throws UserError where there is none and apt cannot install it. */
export async function findOrInstallBrowser(): Promise<string> {
  const found = findBrowser();
  if (found !== undefined) return found;
  const help = 'Chromium is needed and was not found';
  await installWithApt('Chromium', ['chromium'], help);
  const installed = findBrowser();
  if (installed === undefined) throw new UserError(help);
  return installed;
}

export function findBrowser(): string | undefined {
  return find(['chromium', 'chromium-browser', 'google-chrome']);
}

/** @throws UserError with `help` where there is no apt, or no right to use it */
async function installWithApt(what: string, packages: string[], help: string): Promise<void> {
  if (find(['apt-get']) === undefined || !isDebianLike()) throw new UserError(help);
  const sudo = process.getuid?.() === 0 ? [] : ['sudo'];
  if (sudo.length > 0 && find(sudo) === undefined) throw new UserError(help);
  const quiet = ['-y', '-qq', '--no-install-recommends'];
  const install = ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', 'install', ...quiet, ...packages];
  await step(`Installing ${what} with apt (${[...sudo, 'apt-get install', ...packages].join(' ')})`, async () => {
    await run([...sudo, 'apt-get', 'update', '-qq']);
    await run([...sudo, ...install]);
  });
}

function findPrograms(): Programs | undefined {
  const database = find(['mariadbd', 'mysqld']);
  // Debian's redis-tools has the server as redis-check-rdb: one program, whose name selects its function.
  const redis = find(['redis-server', 'valkey-server', 'redis-check-rdb', 'valkey-check-rdb']);
  // mariadb-install-db, which creates a data directory, needs a program of the client package.
  const complete = database?.endsWith('mysqld') || find(['my_print_defaults']) !== undefined;
  return database === undefined || redis === undefined || !complete ? undefined : { database, redis };
}

/** A program by one of its names: the first folder on PATH that has one, as in a shell; then the first name. */
export function find(names: string[]): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...MORE_FOLDERS];
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isDebianLike(): boolean {
  try {
    return /^ID(_LIKE)?=.*(debian|ubuntu)/m.test(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    return false;
  }
}

function howToInstall(): string {
  const command = find(['brew'])
    ? 'brew install mariadb redis'
    : find(['dnf'])
      ? 'sudo dnf install mariadb-server redis'
      : find(['pacman'])
        ? 'sudo pacman -S mariadb redis'
        : find(['apk'])
          ? 'sudo apk add mariadb redis'
          : `sudo apt-get install --no-install-recommends ${DEBIAN_PACKAGES.join(' ')}`;
  return [
    'A database (MariaDB or MySQL) and Redis (or Valkey) are needed and were not found. Either install them:',
    `  ${command}`,
    'or run them in containers:',
    '  docker compose up -d mysql redis',
    '  MYSQL_URL=mysql://hookbay:hookbay@127.0.0.1:3306/hookbay REDIS_URL=redis://127.0.0.1:6379/0 npm start',
  ].join('\n');
}

function run([command, ...args]: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command as string, args, { stdio: ['inherit', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(-4_000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('exit', (code) =>
      code === 0 ? resolve() : reject(new UserError(`${command} ${args.join(' ')} failed:\n${output}`)),
    );
  });
}
