import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { NODE_FLAGS } from '../../src/local/roles.ts';
import { ready } from './environment.ts';

/** A role in a process of its own, as in production. */
export interface RoleProcess {
  child: ChildProcess;
  /** Address of an API. */
  url: string;
  port: number;
  internalPort: number;
  /** Its log so far, parsed line by line. */
  log: Record<string, unknown>[];
  /** All of its output so far. */
  output(): string;
  /** Sends a signal and resolves with the exit code, or the signal's name. */
  end(signal?: NodeJS.Signals): Promise<number | string | null>;
}

/**
 * Starts a role on free ports and resolves when it is ready, or with `untilReady: false` when its internal port is
 * open.
 */
export async function startRole(
  role: 'api' | 'worker',
  env: Record<string, string>,
  { untilReady = true, logLevel = 'info', main = 'src/main.ts' } = {},
): Promise<RoleProcess> {
  const child = spawn(process.execPath, [...NODE_FLAGS, main, role], {
    env: { ...process.env, ...env, PORT: '0', INTERNAL_PORT: '0', LOG_LEVEL: logLevel },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: Record<string, unknown>[] = [];
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
    process.stderr.write(chunk);
  });
  const ports = await new Promise<{ port?: number; internalPort: number }>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const entry = JSON.parse(line) as Record<string, unknown>;
      log.push(entry);
      if (entry['internalPort'] !== undefined) resolve(entry as { port?: number; internalPort: number });
    });
    child.on('exit', (code) => reject(new Error(`${role} ended with ${code}: ${JSON.stringify(log)}`)));
  });
  if (untilReady) await ready(ports.internalPort);
  return {
    child,
    url: `http://127.0.0.1:${ports.port}`,
    port: ports.port ?? 0,
    internalPort: ports.internalPort,
    log,
    output: () => output,
    end: (signal = 'SIGTERM') => endProcess(child, signal),
  };
}

export function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<number | string | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode ?? child.signalCode);
  return new Promise((resolve) => {
    child.on('exit', (code, by) => resolve(code ?? by));
    child.kill(signal);
  });
}
