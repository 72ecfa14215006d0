import { execFile } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { UserError } from '../../src/user-error.ts';
import { find } from '../../src/local/programs.ts';
import { step } from '../../src/local/progress.ts';

const exec = promisify(execFile);

/** Delete this folder for newer servers. */
const CACHE = resolve('node_modules/.cache/hookbay-other-servers');
const ROOT = join(CACHE, 'root');
const APT = join(CACHE, 'apt');

const SUITE = 'sid';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const PACKAGES = ['mysql-server-core', 'redis-server', 'valkey-server'];

/** The files that its package installs at a compiled-in path; it does not start without them. */
const MYSQL_OPTIONS = [
  `--lc-messages-dir=${ROOT}/usr/share/mysql`,
  `--character-sets-dir=${ROOT}/usr/share/mysql/charsets`,
];

export type Store = 'redis' | 'valkey';
export const STORES: readonly Store[] = ['redis', 'valkey'];

/** A folder of programs to put first on PATH, and the output of their `--version`. */
export interface ServerSet {
  folder: string;
  versions: string;
}

/**
 * MySQL and a Redis or Valkey of Debian unstable, on any Debian. The packages are unpacked into a cache, not installed:
 * each program is started by the dynamic loader and the libraries of its release.
 * @throws UserError without apt and a Debian mirror
 */
export async function prepareServers(store: Store): Promise<ServerSet> {
  if (!existsSync(ROOT)) {
    await fetchPackages();
    await step('Unpacking them', unpack);
  }
  const folder = join(CACHE, `with-${store}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const programs = [
    writeProgram(folder, 'mysqld', 'usr/sbin', MYSQL_OPTIONS),
    writeProgram(folder, `${store}-server`, 'usr/bin'),
  ];
  const versions = await Promise.all(programs.map(versionOf));
  return { folder, versions: versions.join(' with ') };
}

/** Packages in the cache are not downloaded again. */
async function fetchPackages(): Promise<void> {
  if (find(['apt-get']) === undefined || find(['dpkg-deb']) === undefined) {
    throw new UserError('apt-get and dpkg-deb are needed: run this on Debian');
  }
  for (const folder of ['lists/partial', 'archives/partial']) mkdirSync(join(APT, folder), { recursive: true });
  writeFileSync(join(APT, 'status'), '');
  writeFileSync(join(APT, 'sources.list'), `deb [signed-by=${KEYRING}] ${await findMirror()} ${SUITE} main\n`);
  writeFileSync(join(APT, 'apt.conf'), APT_CONFIG);
  const apt = (...args: string[]): Promise<unknown> => exec('apt-get', ['-c', join(APT, 'apt.conf'), ...args]);
  await step(`Reading the package lists of Debian ${SUITE}`, () => apt('update'));
  const install = ['install', '-y', '--no-install-recommends', '--download-only', ...PACKAGES];
  await step(`Downloading ${PACKAGES.join(', ')} with their libraries (about 80 MB)`, () => apt(...install));
}

/** Folders of its own, without the system's hooks and installed packages. */
const APT_CONFIG = `
Dir::State "${APT}";
Dir::State::status "${APT}/status";
Dir::Cache "${APT}";
Dir::Etc::sourcelist "${APT}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Debug::NoLocking "true";
APT::Sandbox::User "";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`;

/** The mirror of this machine's own packages. */
async function findMirror(): Promise<string> {
  const sources = ['indextargets', '--format', '$(LABEL) $(REPO_URI)', 'Created-By: Packages'];
  const { stdout } = await exec('apt-get', sources);
  const mirror = /^Debian (\S+)$/m.exec(stdout)?.[1];
  if (mirror === undefined) throw new UserError('apt knows no mirror of Debian; is "apt-get update" needed?');
  return mirror;
}

/** Unpacks under another name first, so that a killed run leaves no incomplete folder. */
async function unpack(): Promise<void> {
  const unfinished = `${ROOT}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  const archives = readdirSync(join(APT, 'archives')).filter((name) => name.endsWith('.deb'));
  for (const name of archives) await exec('dpkg-deb', ['--extract', join(APT, 'archives', name), unfinished]);
  renameSync(unfinished, ROOT);
}

function writeProgram(folder: string, name: string, home: string, options: string[] = []): string {
  const [loader] = globSync(`${ROOT}/usr/lib/*/ld-linux-*.so.*`);
  if (loader === undefined) throw new UserError(`there is no dynamic loader in ${ROOT}; delete ${CACHE} and try again`);
  const quoted = [loader, '--library-path', join(loader, '..'), join(ROOT, home, name)].map((part) => `'${part}'`);
  const after = options.map((option) => ` '${option}'`).join('');
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\nexec ${quoted.join(' ')} "$@"${after}\n`);
  chmodSync(file, 0o755);
  return file;
}

async function versionOf(program: string): Promise<string> {
  const { stdout } = await exec(program, ['--version']);
  const name = { mysqld: 'MySQL', 'redis-server': 'Redis', 'valkey-server': 'Valkey' }[program.split('/').at(-1) ?? ''];
  return `${name} ${/(?:Ver |v=)([0-9.]+)/.exec(stdout)?.[1]}`;
}
