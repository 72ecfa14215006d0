/*
 * `npm run bench:large`: bursts of large bodies to one API process, one after another, beside 200 small captures a
 * second from a thread of their own. Everything is on one machine, so a burst also takes its cores: the same burst to
 * another installation, with an API, worker and private stores of its own, shows how much.
 *
 *   npm run bench:large -- [count x megabytes, 1x1 20x1 180x1 1x3 …]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { say, step } from '../../src/local/progress.ts';
import { client, mintToken, send } from '../support/client.ts';
import { openEnvironment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startPrivateServers } from '../support/private-servers.ts';
import { startRole } from '../support/processes.ts';
import { sendSmallCaptures } from './small-captures.ts';
import { percentile } from '../support/statistics.ts';

/** Bursts are repeated for so long, so that enough small captures are beside them. */
const BESIDE_MS = 4_000;

/** As many as the byte budget of a process (256 MiB) holds of one user, and one case of more. */
const BURSTS = '1x1 20x1 180x1 1x3 10x3 60x3 1x8 5x8 22x8 1x24 3x24 7x24 200x3';

const given = process.argv.slice(2);
const bursts = (given.length > 0 ? given : BURSTS.split(' ')).map((burst) => burst.split('x').map(Number));
const here = await install();
const elsewhere = await install();
const results: object[] = [];

say(`
Conditions: ${cpus().length} cores, Node ${process.version}, everything on one machine, 200 small captures a second`);
await alone(2_000);
for (const [count = 1, megabytes = 1] of bursts) {
  say(`\n${count} x ${megabytes} MB`);
  const { p99 } = await alone(BESIDE_MS);
  for (const [to, target] of Object.entries({ elsewhere, here })) {
    const result = await step(`sent ${to}`, () => besideBursts(target, count, megabytes));
    const { kept, sent, refused, seconds, residentMB, small } = result;
    results.push({ count, megabytes, to, ...result, alone: p99, ratio: small.p99 / p99 });
    say(
      `  kept ${kept} of ${sent}, refused ${JSON.stringify(refused)}, ${seconds.toFixed(2)} s a burst, ` +
        `${residentMB} MB resident at most; small: ${inWords(small)}, p99 ${(small.p99 / p99).toFixed(1)} times that alone`,
    );
  }
}
writeFileSync(
  'bench-large.json',
  `${JSON.stringify({ cores: cpus().length, node: process.version, results }, null, 2)}\n`,
);
await Promise.all([here.remove(), elsewhere.remove()]);

/** An installation with an endpoint. */
async function install() {
  const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-bench-'));
  const servers = await startPrivateServers(dataDir);
  const environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
  const [api, worker] = await Promise.all([startRole('api', environment.env), startRole('worker', environment.env)]);
  const owner = client(api.url, mintToken('bench', { plan: 'enterprise' }));
  const url = `${api.url}/h/${(await owner.create()).body.id}`;
  async function remove(): Promise<void> {
    await Promise.all([api.end(), worker.end()]);
    await environment.close();
    await servers.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
  return { url, api, drained: () => environment.drained(), remove };
}

type Installation = Awaited<ReturnType<typeof install>>;

interface Small {
  p50: number;
  p99: number;
  max: number;
  count: number;
  lost: number;
}

async function alone(ms: number): Promise<Small> {
  const small = sendSmallCaptures(here.url);
  await sleep(ms);
  const summary = summarize(await small.stop(), [[0, Infinity]]);
  say(`  alone: ${inWords(summary)}`);
  return summary;
}

/** Bursts, each after the one before is stored; counts the small captures that were due between start and end. */
async function besideBursts({ url, api, drained }: Installation, count: number, megabytes: number) {
  const body = Buffer.alloc(megabytes * 1e6, 'x');
  const before = await refusals(api.internalPort);
  resetPeak(api.child.pid as number);
  const small = sendSmallCaptures(here.url);
  const spans: [number, number][] = [];
  const lasted: number[] = [];
  let kept = 0;
  for (let spent = 0; spent < BESIDE_MS;) {
    const start = Date.now();
    const answers = await Promise.all(Array.from({ length: count }, () => send(url, { method: 'POST', body })));
    lasted.push(Date.now() - start);
    await drained();
    spans.push([start, Date.now()]);
    spent += Date.now() - start;
    kept += answers.filter(({ status }) => status === 200).length;
  }
  const captures = await small.stop();
  const after = await refusals(api.internalPort);
  return {
    kept,
    sent: count * lasted.length,
    refused: Object.fromEntries(
      [...after].map(([reason, n]) => [reason, n - (before.get(reason) ?? 0)]).filter(([, n]) => n !== 0),
    ),
    seconds: percentile(lasted, 0.5) / 1_000,
    residentMB: peakMB(api.child.pid as number),
    small: summarize(captures, spans),
  };
}

function summarize(captures: { due: number; took: number; kept: boolean }[], spans: [number, number][]): Small {
  const beside = captures.filter(({ due }) => spans.some(([start, end]) => due >= start && due <= end));
  const times = beside.map(({ took }) => took);
  return {
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    max: Math.max(...times),
    count: times.length,
    lost: beside.filter(({ kept }) => !kept).length,
  };
}

function inWords({ p50, p99, max, count, lost }: Small): string {
  return `p50 ${p50}, p99 ${p99}, max ${max} ms of ${count}, ${lost} refused`;
}

async function refusals(port: number): Promise<Map<string, number>> {
  const { samples } = await scrape(port);
  const counted = samples.filter(({ name }) => name === 'hookbay_capture_refusals_total');
  return new Map(counted.map(({ labels, value }) => [labels['reason'] ?? '', value]));
}

/** The kernel's mark of the most memory that a process had resident; 5 resets it. */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function peakMB(pid: number): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round((Number(kilobytes) * 1_024) / 1e6);
}
