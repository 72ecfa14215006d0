/*
 * `npm run bench:follow [-- captures, 400]`: the time from a receipt of one API process to the answer of a wait, and to
 * the event of a stream, on another one. Once with pauses between captures, and once without, where streams send at most
 * ten times a second.
 */
import { cpus } from 'node:os';
import { say, step } from '../../src/local/progress.ts';
import { captureOne, client, mintToken } from '../support/client.ts';
import { eventually } from '../support/environment.ts';
import { openEvents } from '../support/event-source.ts';
import { startFleet } from '../support/fleet.ts';
import { percentile } from '../support/statistics.ts';

const PAUSE_MS = 150;

const captures = Number(process.argv[2] ?? 400);
say(`Conditions: ${cpus().length} cores, Node ${process.version}; everything on one machine`);
const fleet = await startFleet();
const token = mintToken('bench', { plan: 'enterprise' });
const [taking, following] = fleet.apis.map(({ url }) => url) as [string, string];
try {
  await step(`${captures} waits, one after another`, waits);
  await step(`${captures} captures to a stream, ${PAUSE_MS} ms apart`, () => stream(PAUSE_MS));
  await step(`${captures} captures to a stream, one after another`, () => stream(0));
} finally {
  await fleet.stop();
}

async function waits(): Promise<void> {
  const { id } = (await client(taking, token).create()).body;
  const times: number[] = [];
  for (let after = 0; after < captures; after += 1) {
    const waiting = client(following, token)
      .call('GET', `/api/endpoints/${id}/requests/next?after=${after}&timeout=55`)
      .then(() => performance.now());
    await pause(20);
    await captureOne(taking, id);
    const receipt = performance.now();
    times.push((await waiting) - receipt);
  }
  report('receipt to answer of a wait', times);
}

async function stream(pauseMs: number): Promise<void> {
  const { id } = (await client(taking, token).create()).body;
  const arrivals = new Map<string, number>();
  const onEntry = (entry: { id: string }): void => void arrivals.set(entry.id, performance.now());
  const events = await openEvents(`${following}/api/endpoints/${id}/events`, token, { onEntry });
  const receipts: { id: string; at: number }[] = [];
  for (let sent = 0; sent < captures; sent += 1) {
    const receipt = await captureOne(taking, id);
    receipts.push({ id: receipt.id, at: performance.now() });
    if (pauseMs > 0) await pause(pauseMs);
  }
  await eventually(() => arrivals.size === captures);
  events.close();
  report(
    'receipt to event of a stream',
    receipts.map((one) => (arrivals.get(one.id) ?? Number.NaN) - one.at),
  );
}

function report(what: string, times: number[]): void {
  say(`${what}: p50 ${percentile(times, 0.5).toFixed(1)} ms, p99 ${percentile(times, 0.99).toFixed(1)} ms`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
