import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { UserError } from '../user-error.ts';
import type { Resources } from '../resources.ts';
import { stopProcess, type ProcessRegistry } from './processes.ts';
import { step } from './progress.ts';
import type { PrivateServer } from './private-server.ts';

const READY_TIMEOUT_MS = 60_000;

/** As in the image: with more room for young objects Node collects them less often, 10 % of a capture's CPU. */
export const NODE_FLAGS = ['--max-semi-space-size=32'];

export interface LocalContext {
  registry: ProcessRegistry;
  resources: Resources;
  dataDir: string;
}

/** Starts a private server, and stops everything when it exits unexpectedly; returns its address. */
export async function startPrivate<C>(
  name: string,
  { resources, dataDir }: LocalContext,
  start: () => Promise<PrivateServer<C>>,
): Promise<C> {
  const server = await step(`Starting a private ${name}`, start);
  let stopping = false;
  resources.add(server, (running) => {
    stopping = true;
    return running.stop();
  });
  server.process.on('exit', (code, signal) => {
    if (!stopping)
      stopAfter(new UserError(`The private ${name} ended (${signal ?? `code ${code}`}); its log is in ${dataDir}.`));
  });
  return server.config;
}

/** Starts a role in a process of its own; resolves when it is ready. */
export async function startRole(
  role: 'api' | 'worker',
  env: NodeJS.ProcessEnv,
  { registry, resources, dataDir }: LocalContext,
): Promise<void> {
  const logFile = join(dataDir, `${role}.log`);
  const logStart = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  const main = fileURLToPath(new URL('../main.ts', import.meta.url));
  const child = registry.start(role, process.execPath, [...NODE_FLAGS, main, role], { env, logFile, ipc: true });
  let [stopping, ready] = [false, false];
  resources.add(child, async () => {
    stopping = true;
    if (child.pid !== undefined && child.exitCode === null) await stopProcess(child.pid);
  });
  const exited = new Promise<never>((_resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (stopping) return;
      const log = readFileSync(logFile).subarray(logStart).toString('utf8').slice(-2_000);
      const error = new UserError(
        `${log}\nThe ${role} process ended (${signal ?? `code ${code}`}); the end of ${logFile} is above.`,
      );
      if (ready) stopAfter(error);
      else reject(error);
    });
  });
  await Promise.race([untilReady(`http://${probeHost(env['HOST'] ?? '')}:${env['INTERNAL_PORT']}/readyz`), exited]);
  ready = true;
}

async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (let last = ''; ; await sleep(50)) {
    try {
      const response = await fetch(url);
      if (response.ok) return;
      last = await response.text();
    } catch (error) {
      last = String(error);
    }
    if (performance.now() > deadline) throw new UserError(`${url} is not ready: ${last}`);
  }
}

/** The address to connect to for a listening address. */
function probeHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** An instance that lost one of its processes reports it, and stops as after Ctrl-C. */
function stopAfter(error: Error): void {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}
