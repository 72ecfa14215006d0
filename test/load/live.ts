/*
 * `npm run bench:live [-- audience | idle | unwatched]`: live events on real processes (APIs, workers, private MariaDB
 * and Redis with appendfsync always, senders and clients, all on this machine):
 *
 * 1. 200 sockets of 20 users on two pods: latency of events without faults, then the books while pods, workers and
 * Redis are killed;
 * 2. 5,000 idle sockets on one pod: memory a socket, and what they do to captures;
 * 3. captures that nobody follows: CPU a capture with broadcasting and without.
 */
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import autocannon from 'autocannon';
import { say, step } from '../../src/local/progress.ts';
import { startFollower, type Follower } from '../support/live/follower.ts';
import { client, mintToken } from '../support/client.ts';
import { eventually } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startFleet, type Fleet } from '../support/fleet.ts';
import { runTrial } from '../support/live/trial.ts';
import { startRole } from '../support/processes.ts';
import { cpuOf } from './bench/cpu.ts';
import { percentile } from '../support/statistics.ts';

const IDLE_SOCKETS = 5_000;
const CONNECT_AT_ONCE = 100;
const ROUNDS = 8;
const CAPTURES_A_ROUND = 20_000;
const IDLE_ROUNDS = 3;
/** In milliseconds. */
interface Latency {
  p50: number;
  p99: number;
}

say(`Conditions: ${cpus().length} cores, Node ${process.version}; everything on one machine`);
const PARTS: Record<string, () => Promise<void>> = {
  audience: () => withFleet(startFleet(), audienceWithFaults),
  idle: () =>
    withFleet(startFleet({ apis: 1, workers: 1 }, { LIVE_MAX_SOCKETS_PER_USER: String(IDLE_SOCKETS) }), idleSockets),
  unwatched: () => withFleet(startFleet({ apis: 1, workers: 0 }), unwatchedCaptures),
};
const chosen = process.argv.slice(2);
for (const [name, part] of Object.entries(PARTS)) if (chosen.length === 0 || chosen.includes(name)) await part();

async function withFleet(starting: Promise<Fleet>, measure: (fleet: Fleet) => Promise<void>): Promise<void> {
  const fleet = await starting;
  try {
    await measure(fleet);
  } finally {
    await fleet.stop();
  }
}

async function audienceWithFaults(fleet: Fleet): Promise<void> {
  const calm = await step('200 sockets of 20 users, 2,000 captures at a steady pace', () =>
    runTrial(fleet, { sockets: 200, users: 20, captures: 2_000, faults: [], connections: 4, pauseMs: 20 }),
  );
  const faults = [0, 1].flatMap((index) => [
    (all: Fleet) => all.killWorker(index),
    (all: Fleet) => all.killApi(index),
    (all: Fleet) => all.killRedis(),
  ]);
  const rough = await step(`The same audience, 20,000 captures, ${faults.length} kills`, () =>
    runTrial(fleet, { sockets: 200, users: 20, captures: 20_000, faults }),
  );
  say(`without faults   live p50 ${calm.latency.p50} ms, p99 ${calm.latency.p99} ms (arrival to event, ${calm.latency.count} events); missing ${calm.missing}, foreign ${calm.foreign}
with faults      live p50 ${rough.latency.p50} ms, p99 ${rough.latency.p99} ms (${rough.latency.count} events); ${rough.receipts} receipts, ${rough.rows} rows, lost ${rough.lost};
                 received ${rough.received} of ${rough.rows * 10}, missing ${rough.missing}, foreign ${rough.foreign}, ${rough.reconnects} reconnects`);
  if (calm.missing + calm.foreign + rough.missing + rough.foreign + rough.lost > 0) process.exitCode = 1;
}

async function idleSockets(fleet: Fleet): Promise<void> {
  const api = fleet.apis[0] as NonNullable<(typeof fleet.apis)[0]>;
  const token = mintToken('watcher', { plan: 'enterprise' });
  const { id } = (await client(fleet.url, mintToken('sender', { plan: 'enterprise' })).create()).body;
  // Before any load, whose garbage would distort the memory of the sockets.
  const memoryBefore = residentBytes(api.child.pid);
  let followers = await step(`Connecting ${IDLE_SOCKETS} sockets`, () => connectIdle(api.url, token));
  const memory = residentBytes(api.child.pid) - memoryBefore;
  await step('Warming up', () => sendMany(api.url, id, CAPTURES_A_ROUND));
  const beside: Latency[] = [];
  const without: Latency[] = [];
  for (let round = 1; round <= IDLE_ROUNDS; round += 1) {
    beside.push(
      await step(`Captures beside them, ${round} of ${IDLE_ROUNDS}`, () => sendMany(api.url, id, CAPTURES_A_ROUND)),
    );
    for (const follower of followers) follower.close();
    await eventually(async () => (await scrape(api.internalPort)).value('hookbay_sockets') === 0);
    without.push(await step('Captures without sockets', () => sendMany(api.url, id, CAPTURES_A_ROUND)));
    if (round < IDLE_ROUNDS)
      followers = await step(`Connecting ${IDLE_SOCKETS} sockets`, () => connectIdle(api.url, token));
  }
  say(
    `${IDLE_SOCKETS} idle sockets on one pod: ${(memory / IDLE_SOCKETS / 1024).toFixed(1)} KiB of resident memory each`,
  );
  for (const key of ['p50', 'p99'] as const) {
    const [loaded, free] = [beside.map((latency) => latency[key]), without.map((latency) => latency[key])];
    say(
      `capture ${key} beside them ${loaded.join(', ')} ms, without ${free.join(', ')} ms: ratio of the means ${(sum(loaded) / sum(free)).toFixed(2)}`,
    );
  }
}

/** Connects a limited number at a time, so that none waits for long. */
async function connectIdle(url: string, token: string): Promise<Follower[]> {
  const followers: Follower[] = [];
  while (followers.length < IDLE_SOCKETS) {
    const some = Array.from({ length: CONNECT_AT_ONCE }, () => startFollower(url, token, []));
    await eventually(() => some.every((one) => one.isConnected()));
    followers.push(...some);
  }
  return followers;
}

async function unwatchedCaptures(fleet: Fleet): Promise<void> {
  const { id } = (await client(fleet.url, mintToken('alone', { plan: 'enterprise' })).create()).body;
  const microseconds: Record<'on' | 'off', number[]> = { on: [], off: [] };
  await step(
    `CPU of ${CAPTURES_A_ROUND} captures without followers, ${ROUNDS} times with broadcasting and ${ROUNDS} times without`,
    async () => {
      for (let round = 0; round <= 2 * ROUNDS; round += 1) {
        // Off, on, on, off: a drift affects both alike.
        const live = round % 4 === 1 || round % 4 === 2;
        const worker = await startRole('worker', { ...fleet.environment.env, LIVE_EVENTS: String(live) });
        const pids = [
          fleet.apis[0]?.child.pid,
          worker.child.pid,
          fleet.servers.redis.process.pid,
          fleet.servers.mysql.process.pid,
        ].map((pid) => pid ?? 0);
        const start = cpuOf(pids);
        await sendMany(fleet.apis[0]?.url ?? '', id, CAPTURES_A_ROUND);
        await fleet.environment.drained();
        const used = cpuOf(pids) - start;
        await worker.end();
        // The first round warms up.
        if (round > 0) microseconds[live ? 'on' : 'off'].push(used / CAPTURES_A_ROUND);
      }
    },
  );
  const [on, off] = [percentile(microseconds.on, 0.5), percentile(microseconds.off, 0.5)];
  say(`CPU a capture (API, worker, Redis and database together): ${on.toFixed(1)} µs with broadcasting, ${off.toFixed(1)} µs without (medians of ${ROUNDS}, ratio ${(on / off).toFixed(3)})
  with ${microseconds.on.map((us) => us.toFixed(0)).join(' ')}; without ${microseconds.off.map((us) => us.toFixed(0)).join(' ')}`);
}

async function sendMany(url: string, endpointId: string, amount: number): Promise<Latency> {
  const { latency, non2xx, errors } = await autocannon({
    url: `${url}/h/${endpointId}`,
    method: 'POST',
    body: 'x'.repeat(1024),
    connections: 32,
    amount,
  });
  if (non2xx + errors > 0)
    say(`(${non2xx} refusals and ${errors} errors: the machine is too busy for a fair measurement)`);
  return latency;
}

function residentBytes(pid: number | undefined): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
