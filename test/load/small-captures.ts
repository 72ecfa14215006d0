/*
 * A thread that sends small captures at a steady rate, whether they are answered or not, and hands over the time of
 * each: a thread of its own, because what else the benchmark does must not delay them.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const CONNECTIONS = 16;
const A_SECOND = 200;

/** When a capture was due, in milliseconds since the epoch, and how long from then to its receipt. */
export interface SmallCapture {
  due: number;
  took: number;
  kept: boolean;
}

export interface SmallCaptures {
  stop(): Promise<SmallCapture[]>;
}

export function sendSmallCaptures(url: string): SmallCaptures {
  const thread = new Worker(new URL(import.meta.url), { workerData: url });
  return {
    async stop() {
      const captures = new Promise<SmallCapture[]>((resolve, reject) => {
        thread.once('message', resolve);
        thread.once('error', reject);
      });
      thread.postMessage('stop');
      return captures;
    },
  };
}

if (!isMainThread && typeof workerData === 'string') await run(workerData);

async function run(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const start = Date.now();
  const sent: Promise<SmallCapture>[] = [];
  let stopped = false;
  parentPort?.once('message', () => (stopped = true));
  for (let n = 1; !stopped; n += 1) {
    const due = start + (1_000 * n) / A_SECOND;
    await sleep(Math.max(0, due - Date.now()));
    sent.push(sendOne(agent, url, due));
  }
  const captures = await Promise.all(sent);
  agent.destroy();
  parentPort?.postMessage(captures);
}

function sendOne(agent: Agent, url: string, due: number): Promise<SmallCapture> {
  return new Promise((resolve) => {
    const done = (kept: boolean): void => resolve({ due, took: Date.now() - due, kept });
    const sent = request(url, { agent, method: 'POST', headers: { 'Content-Length': 5 } }, (response) => {
      response.resume().on('end', () => done(response.statusCode === 200));
    });
    sent.on('error', () => done(false)).end('small');
  });
}
