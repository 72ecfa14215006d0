import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopProcess } from './processes.ts';

export const HOST = '127.0.0.1';

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

/** Passwords of the private servers and the key of local tokens; generated once for a data directory. */
export interface Secrets {
  mysqlPassword: string;
  redisPassword: string;
  jwtSecret: string;
}

/** A running private server; `stop` resolves when it has exited. */
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

/** @throws Error with the end of the server's log when it does not start */
export async function untilReady(child: ChildProcess, logFile: string, probe: () => Promise<void>): Promise<void> {
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
  throw new Error(
    `${child.spawnfile} did not start. The end of ${logFile}:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`,
  );
}

export function privateServer<C>(config: C, child: ChildProcess): PrivateServer<C> {
  return {
    config,
    process: child,
    async stop() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) await stopProcess(child.pid);
    },
  };
}
