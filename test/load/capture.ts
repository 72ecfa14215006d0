/*
 * `npm run bench:capture`: a load on the whole path (one API process, one worker, private MariaDB and Redis with
 * appendfsync always, the load generator, all on this machine), then a check that receipts = rows = request_count =
 * dailyRequests.
 *
 *   npm run bench:capture -- [connections, 64] [seconds, 30] [body bytes, 1024]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { idToBytes } from '../../src/domain/ids.ts';
import { say, step } from '../../src/local/progress.ts';
import { client, mintToken } from '../support/client.ts';
import { openEnvironment } from '../support/environment.ts';
import { startPrivateServers } from '../support/private-servers.ts';
import { startRole } from '../support/processes.ts';

const FIXED_AMOUNT = 50_000;

const [connections = 64, seconds = 30, bytes = 1024] = process.argv.slice(2).map(Number);
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-bench-'));
const servers = await startPrivateServers(dataDir);
const environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
const [api, worker] = await Promise.all([startRole('api', environment.env), startRole('worker', environment.env)]);
let largestBacklog = 0;
let balanced = true;

const timed = await load(`Sending ${bytes}-byte bodies over ${connections} connections for ${seconds} s`, {
  duration: seconds,
});
say(`
Conditions: ${cpus().length} cores, Node ${process.version}, one API and one worker process, MariaDB, Redis (appendfsync always) and the load generator on one machine
receipts a second    ${Math.round(timed.receipts / timed.seconds)}
latency              p50 ${timed.latency.p50} ms, p99 ${timed.latency.p99} ms, max ${timed.latency.max} ms
largest backlog      ${largestBacklog} batches; empty ${timed.drainMs} ms after the last receipt`);
// At its end the generator aborts the requests in flight: up to one a connection.
keepBooks(timed, connections);
// With a fixed number every request is answered, so the counts have to agree exactly.
keepBooks(await load(`Sending ${FIXED_AMOUNT} more, each answer awaited`, { amount: FIXED_AMOUNT }), 0);

await Promise.all([api.end(), worker.end()]);
await environment.close();
await servers.stop();
rmSync(dataDir, { recursive: true, force: true });
process.exitCode = balanced ? 0 : 1;

/** Sends to a new endpoint of a new user and waits until everything is stored. */
async function load(text: string, extent: { duration: number } | { amount: number }) {
  const user = client(api.url, mintToken(`bench-${Object.keys(extent)[0]}`, { plan: 'enterprise' }));
  const { id } = (await user.create()).body;
  const watch = setInterval(() => void observeBacklog(), 50);
  const result = await step(text, async () =>
    autocannon({ url: `${api.url}/h/${id}`, method: 'POST', body: 'x'.repeat(bytes), connections, ...extent }),
  );
  const end = performance.now();
  await environment.drained();
  const drainMs = Math.round(performance.now() - end);
  clearInterval(watch);
  const [{ n: rows } = { n: 0 }] = await environment.db
    .knex('requests')
    .where({ endpoint_id: idToBytes(id) })
    .count<{ n: number }[]>({ n: '*' });
  return {
    seconds: result.duration,
    receipts: result['2xx'],
    others: result.non2xx + result.errors,
    latency: result.latency,
    drainMs,
    rows,
    requestCount: (await user.endpoint(id)).body.request_count,
    dailyRequests: (await user.endpoints()).body.usage.dailyRequests,
  };
}

function keepBooks(
  { receipts, others, rows, requestCount, dailyRequests }: Awaited<ReturnType<typeof load>>,
  unreadAtMost: number,
): void {
  const unread = rows - receipts;
  const good = others === 0 && rows === requestCount && rows === dailyRequests && unread >= 0 && unread <= unreadAtMost;
  balanced &&= good;
  say(
    `receipts ${receipts}, rows ${rows}, request_count ${requestCount}, dailyRequests ${dailyRequests}, other answers ${others}`,
  );
  say(
    good
      ? `The books balance${unread > 0 ? ` (${unread} answers were not waited for)` : ''}.`
      : 'THE BOOKS DO NOT BALANCE',
  );
}

async function observeBacklog(): Promise<void> {
  const counts = await environment.queue.getJobCounts('wait', 'active', 'delayed');
  largestBacklog = Math.max(
    largestBacklog,
    Object.values(counts).reduce((sum, count) => sum + count, 0),
  );
}
