import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endProcess } from './processes.ts';

/** A running `listen` command. */
export interface Listener {
  child: ChildProcess;
  /** What it has printed so far: results, and what it tells its user. */
  lines(): string[];
  said(): string;
  /** Resolves with the exit code. */
  exit: Promise<number | string | null>;
  end(signal?: NodeJS.Signals): Promise<number | string | null>;
}

/** `command`: the program and the file, by default the role. */
export function startListener(
  args: string[],
  env: Record<string, string> = {},
  [program, ...file]: [string, ...string[]] = [process.execPath, 'src/main.ts', 'listen'],
): Listener {
  const child = spawn(program, [...file, ...args], {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, said] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  const exit = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string | null);
  return {
    child,
    lines: () => output.split('\n').slice(0, -1),
    said: () => said,
    exit,
    end: async (signal = 'SIGINT') => {
      await endProcess(child, signal);
      return exit;
    },
  };
}

export interface Arrival {
  method: string;
  target: string;
  rawHeaders: string[];
  header(name: string): string;
  body: Buffer;
}

/** The user's own server, which a listener forwards to. */
export interface LocalServer {
  port: number;
  arrivals: Arrival[];
  /** Requests that have no answer yet. */
  open(): number;
  /** Answers those that wait because of `answer`. */
  release(): void;
  /** Breaks all connections; nothing listens afterwards. */
  stop(): Promise<void>;
}

export async function startLocalServer(
  answer: (res: ServerResponse, arrival: Arrival) => void = (res) => void res.end('ok'),
  port = 0,
): Promise<LocalServer> {
  const arrivals: Arrival[] = [];
  const waiting = new Set<ServerResponse>();
  const server = createServer((req, res) => {
    waiting.add(res);
    res.on('close', () => waiting.delete(res));
    void take(req, res).catch(() => {});
  });
  async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await readBody(req);
    const { method = '', url: target = '', rawHeaders } = req;
    const header = (name: string): string => String(req.headers[name] ?? '');
    const arrival = { method, target, rawHeaders, body, header };
    arrivals.push(arrival);
    answer(res, arrival);
  }
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    arrivals,
    open: () => waiting.size,
    release: () => waiting.forEach((res) => res.end()),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readBody(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
