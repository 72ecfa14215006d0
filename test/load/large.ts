/*
 * `npm run bench:large`: bursts of large bodies to one idle API process, beside 200 small captures a second from a
 * thread of their own. Everything is on one machine, so a burst also takes its cores: the same burst to another
 * installation, with an API, worker and private stores of its own, shows how much.
 *
 *   npm run bench:large -- [count x megabytes, 50x3 20x8 …]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { say, step } from '../../src/local/progress.ts';
import { client, mintToken, send } from '../support/client.ts';
import { openEnvironment } from '../support/environment.ts';
import { scrape } from '../support/exposition.ts';
import { startPrivateServers } from '../support/private-servers.ts';
import { startRole } from '../support/processes.ts';

const SMALL_PER_SECOND = 200;
const SMALL_SECONDS = 5;

const given = process.argv.slice(2).map((burst) => burst.split('x').map(Number));
const bursts =
  given.length > 0
    ? given
    : [
        [50, 3],
        [20, 8],
      ];
const here = await install();
const elsewhere = await install();

await sendSmall(2);
say(`
Conditions: ${cpus().length} cores, Node ${process.version}, everything on one machine, ${SMALL_PER_SECOND} small captures a second`);
report('alone', await step(`Small captures alone, for ${SMALL_SECONDS} s`, () => sendSmall()));
for (const [count = 1, megabytes = 1] of bursts) {
  for (const [to, { url, api, drained }] of Object.entries({ elsewhere, here })) {
    const beside = sendSmall();
    const burst = await step(`${count} bodies of ${megabytes} MB at once, sent ${to}`, () =>
      sendBurst(url, count, megabytes),
    );
    const resident = (await scrape(api.internalPort)).value('process_resident_memory_bytes') ?? 0;
    report(`${burst}, ${Math.round(resident / 1e6)} MB resident`, await beside);
    await drained();
  }
}
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

async function sendBurst(url: string, count: number, megabytes: number): Promise<string> {
  const body = Buffer.alloc(megabytes * 1e6, 'x');
  const start = performance.now();
  const answers = await Promise.all(Array.from({ length: count }, () => send(url, { method: 'POST', body })));
  const seconds = (performance.now() - start) / 1000;
  const kept = answers.filter(({ status }) => status === 200).length;
  return `${kept} of ${count} x ${megabytes} MB kept in ${seconds.toFixed(1)} s`;
}

function sendSmall(duration = SMALL_SECONDS): Promise<autocannon.Result> {
  const load = { url: here.url, method: 'POST', body: 'small', connections: 8, duration, workers: 1 } as const;
  return Promise.resolve(autocannon({ ...load, overallRate: SMALL_PER_SECOND }));
}

function report(what: string, { latency, non2xx, errors, '2xx': kept }: autocannon.Result): void {
  const { p50, p90, p99, max } = latency;
  say(`${what}; small: p50 ${p50}, p90 ${p90}, p99 ${p99}, max ${max} ms of ${kept}, other answers ${non2xx + errors}`);
}
