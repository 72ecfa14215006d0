/*
 * `npm run bench:reads`: a list page, a detail and a count of an endpoint with 1,000 entries and of one
 * with 1,000,000, in turn, as ratios of medians; then the large endpoint is deleted, and captures and
 * reads of another one are timed before and while its entries go.
 *
 *   npm run bench:reads -- [entries, 1000000] [rounds, 200]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { idToBytes, newTimeOrderedId } from '../../src/domain/ids.ts';
import { say, step } from '../../src/local/progress.ts';
import { insertRequests } from '../../src/store/capture-batches.ts';
import { inTransaction } from '../../src/store/database.ts';
import { captureOne, client, mintToken } from '../support/client.ts';
import { makeCapture } from '../support/captures.ts';
import { eventually, openEnvironment } from '../support/environment.ts';
import { startPrivateServers } from '../support/private-servers.ts';
import { startRole } from '../support/processes.ts';
import { percentile } from '../support/statistics.ts';

const SMALL = 1_000;
const ROWS_AT_ONCE = 6_400;
const BODY = Buffer.from(JSON.stringify({ event: 'example', data: 'x'.repeat(200) }));

const [entries = 1_000_000, rounds = 200] = process.argv.slice(2).map(Number);
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-bench-'));
const servers = await startPrivateServers(dataDir);
const environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
const [api, worker] = await Promise.all([startRole('api', environment.env), startRole('worker', environment.env)]);
const owner = client(api.url, mintToken('bench', { plan: 'enterprise' }));

const small = await fill(SMALL);
const large = await fill(entries);
say(
  `\nConditions: ${cpus().length} cores, Node ${process.version}, one API and one worker process, MariaDB and Redis on one machine; medians of ${rounds} rounds in turn, ${BODY.length}-byte bodies`,
);
await compare('list page (50 newest)', ({ id }) => owner.list(id));
await compare('list page (50, before an entry in the middle)', ({ id, entryIds }) =>
  owner.list(id, `?before=${entryIds[entryIds.length >> 1]}`),
);
await compare('count (total, with one entry)', ({ id }) => owner.list(id, '?limit=1'));
await compare('detail', ({ entryIds }) => owner.entry(entryIds[Math.floor(Math.random() * entryIds.length)] as string));
await measureDelete();

await Promise.all([api.end(), worker.end()]);
await environment.close();
await servers.stop();
rmSync(dataDir, { recursive: true, force: true });

interface Filled {
  id: string;
  /** A sample, in order of arrival. */
  entryIds: string[];
}

async function fill(count: number): Promise<Filled> {
  const { id } = (await owner.create({ permanent: true })).body;
  const entryIds: string[] = [];
  await step(`Storing ${count} entries`, async () => {
    for (let seq = 1; seq <= count;) {
      const captures = Array.from({ length: Math.min(ROWS_AT_ONCE, count - seq + 1) }, () => ({
        ...makeCapture(id, { id: newTimeOrderedId(), userId: 'bench', body: BODY }),
        seq: seq++,
      }));
      entryIds.push(...captures.filter((_capture, i) => i % 64 === 0).map((capture) => capture.id));
      await inTransaction(environment.db.pool, (connection) => insertRequests(connection, captures));
    }
  });
  await environment.db
    .knex('endpoints')
    .where({ id: idToBytes(id) })
    .update({ request_count: count, stored_count: count });
  return { id, entryIds };
}

async function compare(name: string, read: (endpoint: Filled) => Promise<{ status: number }>): Promise<void> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    for (const [which, endpoint] of [small, large].entries()) {
      const start = performance.now();
      const { status } = await read(endpoint);
      times[which]?.push(performance.now() - start);
      if (status !== 200) throw new Error(`${name}: ${status}`);
    }
  }
  const [few, many] = times.map((list) => percentile(list, 0.5)) as [number, number];
  say(
    `${name.padEnd(46)} ${few.toFixed(2)} ms with ${SMALL}, ${many.toFixed(2)} ms with ${entries}: ratio ${(many / few).toFixed(2)}`,
  );
}

async function measureDelete(): Promise<void> {
  const { id: other } = (await owner.create()).body;
  const before = await timeOthers(other, async (round) => round < rounds);
  const start = performance.now();
  const { status } = await owner.removeEndpoint(large.id);
  const answered = performance.now() - start;
  if (status !== 200) throw new Error(`delete: ${status}`);
  const left = async (): Promise<boolean> => (await environment.db.knex('purges')).length > 0;
  const during = await timeOthers(other, left);
  await eventually(async () => !(await left()), 600_000);
  say(
    `delete of ${entries} entries answered in ${answered.toFixed(0)} ms; they were gone ${((performance.now() - start) / 1000).toFixed(1)} s later`,
  );
  for (const what of ['capture', 'list'] as const) {
    const [b, d] = [before[what], during[what]];
    say(
      `${what.padEnd(8)} of another endpoint: p50 ${percentile(b, 0.5).toFixed(2)} → ${percentile(d, 0.5).toFixed(2)} ms, p99 ${percentile(b, 0.99).toFixed(2)} → ${percentile(d, 0.99).toFixed(2)} ms (${d.length} while the entries went)`,
    );
  }
}

async function timeOthers(
  id: string,
  goOn: (round: number) => Promise<boolean>,
): Promise<{ capture: number[]; list: number[] }> {
  const times = { capture: [] as number[], list: [] as number[] };
  for (let round = 0; await goOn(round); round += 1) {
    let start = performance.now();
    await captureOne(api.url, id, { body: 'x' });
    times.capture.push(performance.now() - start);
    start = performance.now();
    await owner.list(id);
    times.list.push(performance.now() - start);
  }
  return times;
}
