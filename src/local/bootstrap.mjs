/*
 * Runs a TypeScript file of this project on the Node version that the project pins:
 *
 *   node src/local/bootstrap.mjs <file> [argument …]
 *
 * Plain JavaScript without dependencies, because it runs on any Node (18 or later), before the dependencies are
 * installed. It installs the locked ones when they are missing or stale; the pinned Node is one of them.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const modules = join(root, 'node_modules');
const stamp = join(modules, '.hookbay-lock');
const lock = join(root, '.hookbay-installing');
const pinnedNode = join(modules, 'node/bin/node');
const pinnedVersion = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies.node;

const [file, ...args] = process.argv.slice(2);
await installDependencies();
await installNode();
await runFile();

async function installDependencies() {
  const lockHash = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  // npm writes its own copy of the lock file last.
  const isInstalled = () =>
    existsSync(join(modules, '.package-lock.json')) && existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash;
  if (isInstalled()) return;
  await acquireLock();
  if (isInstalled()) return releaseLock();
  const reason = existsSync(stamp) ? 'the lock file has changed' : 'first run';
  await step(`Installing the locked dependencies with npm (${reason})`, () =>
    run(...npm('ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error')),
  );
  writeFileSync(stamp, lockHash);
  releaseLock();
}

/** Two concurrent installations would delete each other's files. */
async function acquireLock() {
  for (let isWaiting = false; ; isWaiting = true) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      process.on('exit', releaseLock);
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isWaiting) process.stdout.write('Another process is installing the dependencies; waiting for it …\n');
    if (!isAlive(Number(readFileSync(lock, 'utf8')))) rmSync(lock, { force: true });
    await new Promise((done) => setTimeout(done, 500));
  }
}

function releaseLock() {
  if (existsSync(lock) && readFileSync(lock, 'utf8') === String(process.pid)) rmSync(lock, { force: true });
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The package downloads its binary in an install script, which some npm configurations do not run. */
async function installNode() {
  if (versionOf(pinnedNode) === pinnedVersion) return;
  await step(`Installing Node ${pinnedVersion}`, () =>
    run(process.execPath, ['installArchSpecificPackage.js'], join(modules, 'node')),
  );
  if (versionOf(pinnedNode) !== pinnedVersion) {
    exit(
      `Node ${pinnedVersion} could not be installed for ${process.platform}-${process.arch}. Install Node 26 and run: node ${file} ${args.join(' ')}`,
    );
  }
}

async function runFile() {
  if (process.versions.node === pinnedVersion) {
    process.argv = [process.execPath, resolve(root, file), ...args];
    await import(pathToFileURL(resolve(root, file)).href);
    return;
  }
  // The closed channel notifies the child when this process exits, for any reason.
  const child = spawn(pinnedNode, [resolve(root, file), ...args], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
}

function versionOf(node) {
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return stdout?.trim().slice(1);
}

/** npm by the path that started this script, so that it runs on the current `node`. */
function npm(...words) {
  const npmCli = process.env.npm_execpath;
  return npmCli === undefined ? ['npm', words, root] : [process.execPath, [npmCli, ...words], root];
}

async function step(text, work) {
  const start = Date.now();
  const seconds = () => Math.round((Date.now() - start) / 1000);
  process.stdout.write(`${text} …\n`);
  const timer = setInterval(() => process.stdout.write(`  still installing (${seconds()} s)\n`), 5_000);
  await work();
  clearInterval(timer);
  process.stdout.write(`  done in ${seconds()} s\n`);
}

function run(command, words, cwd) {
  return new Promise((done) => {
    const child = spawn(command, words, { cwd, stdio: 'inherit' });
    child.on('error', (error) => exit(`${command} could not be started: ${error.message}`));
    child.on('exit', (code) =>
      code === 0 ? done() : exit(`${command} ${words.join(' ')} failed; its message is above`),
    );
  });
}

function exit(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
