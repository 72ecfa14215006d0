import { quantile } from '../../support/statistics.ts';
import { openConnection, type Connection } from './connection.ts';
import { createMessage, jsonBody, type Message } from './message.ts';
import { closedLoop, openLoop, type Extent, type Pace } from './pace.ts';

export interface LoadOptions extends Extent {
  /** Connections are dealt out over these. */
  ports: number[];
  /** All of one length; each request picks one at random, or with `inTurn` the next one. */
  paths: string[];
  inTurn?: boolean;
  connections: number;
  bodyBytes: number;
  /** Every request opens a connection of its own. */
  newConnections: boolean;
  /** Requests a second in all; without it, as many as get answers. */
  rate?: number | undefined;
}

export interface LoadResult {
  receipts: number;
  /** Numbers of other answers and of broken connections. */
  others: Record<string, number>;
  /** From the first request to the last answer. */
  seconds: number;
  /** In milliseconds. */
  latency: { p50: number; p90: number; p99: number; max: number };
  /** CPU time of this process, in microseconds. */
  cpu: number;
}

const TICK_MS = 1;

/** How long all answers may be missing. */
const PATIENCE_MS = 60_000;

const now = (): number => performance.now();

/** Sends requests until the extent is reached, and resolves when every one has its answer. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { ports, paths, connections, newConnections, rate, seconds = 0 } = options;
  const latencies: number[] = [];
  const others: Record<string, number> = {};
  const body = jsonBody(options.bodyBytes);
  const path = pathPicker(paths, options.inTurn === true);
  function done(status: number | string, ms: number): void {
    if (status === 200) latencies.push(ms);
    else others[status] = (others[status] ?? 0) + 1;
  }
  const clients = Array.from({ length: connections }, (_none, i) => {
    const message = createMessage(paths[0] as string, body, newConnections);
    return createClient({ port: ports[i % ports.length] as number, message, newConnections, path, done });
  });
  await Promise.all(clients.map((client) => client.ready));
  const cpuStart = process.cpuUsage();
  const start = now();
  const pace = rate === undefined ? closedLoop(options, now) : openLoop(rate, seconds, now);
  await drive(clients, pace);
  const elapsed = (now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpuStart);
  for (const client of clients) client.close();
  const sorted = Float64Array.from(latencies).toSorted();
  const [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1].map((q) => quantile(sorted, q)) as [number, number, number, number];
  return { receipts: latencies.length, others, seconds: elapsed, latency: { p50, p90, p99, max }, cpu: user + system };
}

function pathPicker(paths: readonly string[], inTurn: boolean): () => string {
  let picked = 0;
  return () => paths[inTurn ? picked++ % paths.length : Math.floor(Math.random() * paths.length)] as string;
}

interface Client {
  ready: Promise<void>;
  /** Sends one request, whose latency counts from `since`. */
  exchange(since: number, whenFree: () => void): void;
  close(): void;
}

interface ClientOptions {
  port: number;
  message: Message;
  newConnections: boolean;
  path: () => string;
  done: (status: number | string, ms: number) => void;
}

function createClient({ port, message, newConnections, path, done }: ClientOptions): Client {
  let connection: Connection | undefined;
  let pending: { since: number; whenFree: () => void } | undefined;
  let settleReady = (): void => {};
  const ready = new Promise<void>((resolve) => (settleReady = resolve));

  function open(whenOpen: () => void): void {
    connection = openConnection(port, {
      opened: whenOpen,
      answered(status) {
        if (newConnections) drop();
        finish(status);
      },
      broken(code) {
        drop();
        settleReady();
        finish(code);
      },
    });
  }

  function drop(): void {
    connection?.close();
    connection = undefined;
  }

  function finish(status: number | string): void {
    const ended = pending;
    pending = undefined;
    if (ended === undefined) return;
    done(status, now() - ended.since);
    ended.whenFree();
  }

  function write(): void {
    message.address(path());
    connection?.send(message.bytes);
  }

  if (newConnections) settleReady();
  else open(settleReady);
  return {
    ready,
    exchange(since, whenFree) {
      pending = { since, whenFree };
      if (connection === undefined) open(write);
      else write();
    },
    close: drop,
  };
}

/** Hands requests that are due to free clients; resolves when no more become due and all are answered. */
function drive(clients: readonly Client[], pace: Pace): Promise<void> {
  return new Promise((resolve, reject) => {
    const free = [...clients];
    let lastAnswer = now();
    const timer = setInterval(() => {
      serve();
      if (free.length === clients.length) lastAnswer = now();
      if (now() - lastAnswer > PATIENCE_MS) end(() => reject(new Error(`no answer for ${PATIENCE_MS} ms`)));
    }, TICK_MS);
    function serve(): void {
      while (free.length > 0) {
        const since = pace.take();
        if (since === undefined) break;
        const client = free.shift() as Client;
        client.exchange(since, () => {
          lastAnswer = now();
          free.push(client);
          serve();
        });
      }
      if (free.length === clients.length && pace.ended()) end(resolve);
    }
    function end(settle: () => void): void {
      clearInterval(timer);
      settle();
    }
    serve();
  });
}
