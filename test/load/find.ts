/*
 * `npm run bench:find`: searches for a common, a rare and an absent word in an endpoint of a million entries, and in
 * one of a hundred whose entries are interleaved; then captures and lists of another user, beside endless searches and
 * without them.
 *
 *   npm run bench:find -- [entries, 1000000] [rounds, 300]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { idToBytes, newTimeOrderedId } from '../../src/domain/ids.ts';
import { say, step } from '../../src/local/progress.ts';
import { insertRequests } from '../../src/store/capture-batches.ts';
import { inTransaction } from '../../src/store/database.ts';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
import { makeCapture } from '../support/captures.ts';
import { openEnvironment } from '../support/environment.ts';
import { startPrivateServers } from '../support/private-servers.ts';
import { startRole } from '../support/processes.ts';
import { percentile } from '../support/statistics.ts';

const ROWS_AT_ONCE = 6_400;
const INTERLEAVED = 100;
const HEADERS = ['Host', 'hooks.example.com', 'User-Agent', 'example/1.0', 'Content-Type', 'application/json'];
const COMMON = Buffer.from(JSON.stringify({ event: 'common', data: 'x'.repeat(600) }));
const RARE = Buffer.from(JSON.stringify({ event: 'rare', data: 'x'.repeat(600) }));

const [entries = 1_000_000, rounds = 300] = process.argv.slice(2).map(Number);
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-bench-'));
const servers = await startPrivateServers(dataDir);
const environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
const [api, worker] = await Promise.all([startRole('api', environment.env), startRole('worker', environment.env)]);
const userOf = (name: string): Client => client(api.url, mintToken(name, { plan: 'enterprise' }));
const owner = userOf('bench');

say(
  `Conditions: ${cpus().length} cores, Node ${process.version}, one API and one worker process, MariaDB and Redis on ` +
    `one machine; ${COMMON.length}-byte bodies`,
);
const alone = await fill(1);
await searches(`one endpoint of ${entries}`, alone[0] as string);
const among = await fill(INTERLEAVED);
await searches(`one of ${INTERLEAVED} interleaved`, among[0] as string);
await besideSearches(alone[0] as string);

await Promise.all([api.end(), worker.end()]);
await environment.close();
await servers.stop();
rmSync(dataDir, { recursive: true, force: true });

/** Stores the entries, dealt out over so many endpoints; the oldest tenth of each has a rare word once. */
async function fill(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) ids.push((await owner.create({ permanent: true })).body.id);
  const rareSeq = Math.ceil(entries / count / 10);
  await step(`Storing ${entries} entries of ${count} endpoints`, async () => {
    for (let stored = 0; stored < entries;) {
      const captures = Array.from({ length: Math.min(ROWS_AT_ONCE, entries - stored) }, () => {
        const seq = Math.floor(stored / count) + 1;
        const endpointId = ids[stored % count] as string;
        stored += 1;
        const body = seq === rareSeq ? RARE : COMMON;
        return {
          ...makeCapture(endpointId, { id: newTimeOrderedId(), userId: 'bench', rawHeaders: HEADERS, body }),
          seq,
        };
      });
      await inTransaction(environment.db.pool, (connection) => insertRequests(connection, captures));
    }
  });
  const each = Math.floor(entries / count);
  await environment.db
    .knex('endpoints')
    .whereIn('id', ids.map(idToBytes))
    .update({ request_count: each, stored_count: each });
  return ids;
}

interface Page {
  requests: unknown[];
  scanned: number;
  next: string | null;
}

async function search(user: Client, id: string, word: string, before: string | null): Promise<Page> {
  const query = `q=${word}${before === null ? '' : `&before=${before}`}`;
  const { status, body } = await user.call<Page>('GET', `/api/endpoints/${id}/requests?${query}`);
  if (status !== 200) throw new Error(`search: ${status}`);
  return body;
}

/** The time until the first hit, or the end, and how many searches that took. */
async function searches(name: string, id: string): Promise<void> {
  for (const word of ['common', 'rare', 'absent']) {
    const start = performance.now();
    let scanned = 0;
    let count = 0;
    for (let before: string | null = null; ;) {
      const page: Page = await search(owner, id, word, before);
      scanned += page.scanned;
      count += 1;
      before = page.next;
      if (page.requests.length > 0 || before === null) break;
    }
    const ms = performance.now() - start;
    say(
      `${name.padEnd(28)} ${word.padEnd(7)} ${ms.toFixed(0)} ms to the first page, ${count} searches, ` +
        `${scanned} entries looked at, ${((1000 * ms) / scanned).toFixed(1)} µs each`,
    );
  }
}

/** Captures and lists of another user, without searches and beside endless ones; a process runs one at a time. */
async function besideSearches(id: string): Promise<void> {
  const other = userOf('other');
  const target = (await other.create()).body.id;
  for (const searching of [0, 1, 0]) {
    let ended = false;
    const loops = Array.from({ length: searching }, async () => {
      for (let before: string | null = null; !ended;) before = (await search(owner, id, 'absent', before)).next;
    });
    const times = { capture: [] as number[], list: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      let start = performance.now();
      await captureOne(api.url, target, { body: 'x' });
      times.capture.push(performance.now() - start);
      start = performance.now();
      await other.list(target);
      times.list.push(performance.now() - start);
    }
    ended = true;
    await Promise.all(loops);
    const of = (list: number[]): string =>
      `p50 ${percentile(list, 0.5).toFixed(2)}, p99 ${percentile(list, 0.99).toFixed(2)} ms`;
    say(`beside ${searching} endless searches: captures ${of(times.capture)}; lists ${of(times.list)}`);
  }
}
