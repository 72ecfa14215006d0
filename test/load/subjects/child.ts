import { fork } from 'node:child_process';
import { once } from 'node:events';

export interface Child {
  pid: number;
  /** Where it listens; 0 for a process that does not. */
  port: number;
  end(): Promise<void>;
}

/** Starts a file of this folder as a process; it sends `{ port }` when it is ready, and ends with its channel. */
export async function startChild(file: string, env: Record<string, string> = {}): Promise<Child> {
  const child = fork(new URL(file, import.meta.url), { env: { ...process.env, ...env } });
  const exit = once(child, 'exit');
  const ready = await Promise.race([once(child, 'message'), exit]);
  if (typeof ready[0] !== 'object') throw new Error(`${file} ended with ${String(ready[0])}`);
  return {
    pid: child.pid as number,
    port: (ready[0] as { port: number }).port,
    async end() {
      child.disconnect();
      await exit;
    },
  };
}
