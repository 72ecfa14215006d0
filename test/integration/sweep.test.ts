import { Worker } from 'bullmq';
import { beforeEach, describe, expect, test } from 'vitest';
import { encodeBatch } from '../../src/domain/capture-job.ts';
import { bytesToId, firstIdAt, idToBytes, newEndpointId, newTimeOrderedId } from '../../src/domain/ids.ts';
import { hashShareToken, newShareId, newShareToken } from '../../src/domain/share.ts';
import { parsePlans, type Plan } from '../../src/plans.ts';
import { enqueueCaptures, findQueued } from '../../src/queue/capture-queue.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { requestSweep, openMaintenanceQueue } from '../../src/queue/maintenance-queue.ts';
import { insertEndpoint, removeEndpoint } from '../../src/store/endpoints.ts';
import { dueEntries, purgeChunk, retireChunk } from '../../src/store/retention.ts';
import { removeRequests } from '../../src/store/remove-requests.ts';
import { findShares, insertShare } from '../../src/store/shares.ts';
import { persistBatches, type CaptureBatch } from '../../src/worker/persist.ts';
import { sweep, type SweepOptions } from '../../src/worker/sweep.ts';
import { captureOne, client, mintToken, send } from '../support/client.ts';
import { makeCapture } from '../support/captures.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';

const DAY = '2026-03-01';
const TABLES = ['shares', 'requests', 'endpoints', 'purges', 'capture_batches', 'daily_usage', 'dead_letters'];
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const plans = parsePlans('{"keeper":{"retentionDays":null}}');

let environment: Environment;
let stopped: string[];
let cursor: Buffer | undefined;

useEnvironment((opened) => {
  environment = opened;
});
beforeEach(async () => {
  for (const table of TABLES) await environment.db.knex(table).delete();
  stopped = [];
  cursor = undefined;
});

async function newEndpoint(plan: string, fields: Partial<{ userId: string; expiresAt: Date }> = {}): Promise<string> {
  const id = newEndpointId();
  await insertEndpoint(environment.db.knex, {
    id,
    userId: fields.userId ?? plan,
    alias: null,
    permanent: false,
    expiresAt: fields.expiresAt ?? null,
    now: new Date(),
    plan: plans.get(plan) as Plan,
  });
  return id;
}

/** Stores entries that arrived `daysAgo`. */
async function store(endpointId: string, count: number, daysAgo = 0): Promise<string[]> {
  const captures = Array.from({ length: count }, (_, i) => {
    // An id of that time, but unique.
    const id =
      daysAgo === 0
        ? newTimeOrderedId()
        : firstIdAt(Date.now() - daysAgo * DAY_MS + i).slice(0, 24) + newEndpointId().slice(24);
    return makeCapture(endpointId, { id });
  });
  await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures }]);
  return captures.map(({ id }) => id);
}

function run(fields: Partial<SweepOptions> = {}) {
  return sweep({
    db: environment.db.knex,
    plans,
    now: Date.now(),
    expiredGraceMs: 24 * HOUR_MS,
    isOver: () => false,
    stopCaptures: async (id) => void stopped.push(id),
    findDisputed: async () => new Set(),
    findQueued: (ids) => findQueued(environment.queues, environment.redis, ids),
    cursor: { read: async () => cursor, write: async (id) => void (cursor = id) },
    ...fields,
  });
}

const idsOf = async (endpointId: string): Promise<string[]> =>
  (
    await environment.db
      .knex('requests')
      .where({ endpoint_id: idToBytes(endpointId) })
      .orderBy('id')
      .pluck('id')
  ).map((id) => bytesToId(id as Buffer));
const storedCount = async (endpointId: string): Promise<number> =>
  (
    await environment.db
      .knex('endpoints')
      .where({ id: idToBytes(endpointId) })
      .first('stored_count')
  ).stored_count as number;

/** Is over after this many calls. */
function overAfter(limit: number): () => boolean {
  let calls = 0;
  return () => (calls += 1) > limit;
}

describe('deleted endpoints', () => {
  test('their entries are removed in chunks; the next sweep continues one that ran out of time', async () => {
    const id = await newEndpoint('pro');
    const other = await newEndpoint('pro');
    await store(id, 2_550);
    await store(other, 3);
    await removeEndpoint(environment.db.knex, 'pro', id, new Date());
    expect(await run({ isOver: overAfter(2) })).toMatchObject({ purged: 1_000, done: false });
    expect(await idsOf(id)).toHaveLength(1_550);
    expect(await run()).toMatchObject({ purged: 1_550, done: true });
    expect(await environment.db.knex('purges')).toEqual([]);
    expect(await idsOf(other)).toHaveLength(3);
  });

  test('many go together: those without entries left end, the one in the middle continues', async () => {
    const counts = [300, 0, 450, 200, 1];
    const doomed = await Promise.all(counts.map(() => newEndpoint('pro')));
    for (const [i, id] of doomed.toSorted().entries()) {
      if (counts[i] !== 0) await store(id, counts[i] as number);
      await removeEndpoint(environment.db.knex, 'pro', id, new Date());
    }
    expect(await run({ isOver: overAfter(1) })).toMatchObject({ purged: 500, done: false });
    expect(await environment.db.knex('purges').orderBy('endpoint_id').pluck('endpoint_id')).toEqual(
      doomed.toSorted().slice(2).map(idToBytes),
    );
    expect(await run()).toMatchObject({ purged: 451, done: true });
    expect(await environment.db.knex('purges')).toEqual([]);
    expect(await environment.db.knex('requests')).toEqual([]);
  });
});

describe('retention', () => {
  test('removes entries past the plan of their owner, and no others; counts stay right', async () => {
    const free = await newEndpoint('free');
    const pro = await newEndpoint('pro');
    const keeper = await newEndpoint('keeper');
    const gone = await newEndpoint('free', { userId: 'of a plan that is not configured any more' });
    await environment.db
      .knex('users')
      .where({ id: Buffer.from('of a plan that is not configured any more') })
      .update({ plan: 'retired' });
    for (const id of [free, pro, keeper, gone]) {
      await store(id, 5, 40);
      await store(id, 3, 10);
      await store(id, 2, 6.99);
    }
    expect(await run()).toMatchObject({ retired: 5 + 3 + 5, done: true });
    expect([
      (await idsOf(free)).length,
      (await idsOf(pro)).length,
      (await idsOf(keeper)).length,
      (await idsOf(gone)).length,
    ]).toEqual([2, 5, 10, 10]);
    expect([await storedCount(free), await storedCount(pro), await storedCount(keeper)]).toEqual([2, 5, 10]);
    expect(await run()).toMatchObject({ retired: 0, done: true });
  });

  test('continues where it ran out of time', async () => {
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => newEndpoint('free')));
    for (const id of endpoints) await store(id, 300, 8);
    let rounds = 0;
    let retired = 0;
    for (let done = false; !done; rounds += 1) {
      const result = await run({ isOver: overAfter(1) });
      retired += result.retired;
      ({ done } = result);
      expect(rounds).toBeLessThan(20);
      if (retired === 1_800) break;
    }
    expect(retired).toBe(1_800);
    expect(rounds).toBeGreaterThan(1);
    for (const id of endpoints) expect([await idsOf(id), await storedCount(id)]).toEqual([[], 0]);
  });

  test('a delete in the middle of captures and of deletes by the owner keeps the count', async () => {
    const id = await newEndpoint('free');
    const old = await store(id, 3_000, 8);
    const byOwner = Array.from({ length: 10 }, (_, i) =>
      removeRequests(environment.db.knex, 'free', old.slice(300 * i, 300 * i + 40)),
    );
    await Promise.all([run(), ...byOwner, ...Array.from({ length: 20 }, () => store(id, 10))]);
    expect([(await idsOf(id)).length, await storedCount(id)]).toEqual([200, 200]);
  });
});

test.for(['retention', 'purge'])('%s deletes bodies of 32 MiB at a time, and larger ones alone', async (kind) => {
  const { knex } = environment.db;
  const id = await newEndpoint('free');
  await store(id, 8, 8);
  await knex('requests').update({ size: 12 * 2 ** 20 });
  await knex('requests')
    .where({ seq: 3 })
    .update({ size: 40 * 2 ** 20 });
  const remove = kind === 'purge' ? purgeChunk : retireChunk;
  let left = [dueEntries(idToBytes(id), kind === 'purge' ? null : Date.now())];
  const chunks: number[] = [];
  while (left.length > 0) {
    const chunk = await remove(knex, left, 500);
    chunks.push(chunk.deleted);
    ({ left } = chunk);
  }
  expect(chunks).toEqual([2, 1, 2, 2, 1]);
  expect(await idsOf(id)).toEqual([]);
});

test('deletes by the owner, retention and captures lock endpoints in one order', async () => {
  const { knex } = environment.db;
  const endpoints = (await Promise.all(Array.from({ length: 8 }, () => newEndpoint('free')))).toSorted();
  // The other way round in the index of the user.
  for (const [i, id] of endpoints.entries())
    await knex('endpoints')
      .where({ id: idToBytes(id) })
      .update({ created_at: new Date(Date.now() - i * HOUR_MS) });
  for (let round = 0; round < 5; round += 1) {
    const old = (await Promise.all(endpoints.map((id) => store(id, 12, 8)))).flat();
    const byOwner = Array.from({ length: 6 }, (_, i) =>
      removeRequests(
        knex,
        'free',
        old.filter((_id, n) => n % 12 === i),
      ),
    );
    const captures = Array.from({ length: 6 }, () => {
      const batch = endpoints.toReversed().map((id) => makeCapture(id));
      return persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: DAY, captures: batch }]);
    });
    await Promise.all([run(), ...byOwner, ...captures]);
  }
  for (const id of endpoints) expect([(await idsOf(id)).length, await storedCount(id)]).toEqual([30, 30]);
});

describe('expiry', () => {
  test('an expired endpoint is removed with its entries after its grace, and its captures are stopped first', async () => {
    const ago = (hours: number): Date => new Date(Date.now() - hours * HOUR_MS);
    const long = await newEndpoint('pro', { expiresAt: ago(25) });
    const short = await newEndpoint('pro', { expiresAt: ago(23) });
    const future = await newEndpoint('pro', { expiresAt: ago(-1) });
    await store(long, 3);
    await store(short, 3);
    expect(await run()).toMatchObject({ expired: 1, purged: 3, done: true });
    expect(stopped).toEqual([long]);
    const left = (await environment.db.knex('endpoints').pluck('id')).map((id) => bytesToId(id as Buffer));
    expect(left.toSorted()).toEqual([short, future].toSorted());
    expect(await idsOf(short)).toHaveLength(3);
  });
});

describe('the ledger', () => {
  const [week, eightDays] = [7 * 24, 8 * 24];
  async function ledger(): Promise<string[]> {
    return (await environment.db.knex('capture_batches').orderBy('id').pluck('id')).map((id) =>
      bytesToId(id as Buffer),
    );
  }
  /** By the clock of the database, which records the time. */
  const storedHoursAgo = (id: string, hours: number): Promise<unknown> =>
    environment.db.knex.raw('UPDATE capture_batches SET stored_at = NOW(3) - INTERVAL ? HOUR WHERE id = ?', [
      hours,
      idToBytes(id),
    ]);
  /** Created as long ago as a failed job that an operator retries. */
  const oldId = (): string => firstIdAt(Date.now() - eightDays * HOUR_MS).slice(0, 24) + newEndpointId().slice(24);
  function newBatch(endpointId: string, id = oldId()): CaptureBatch {
    return { id, day: DAY, captures: [makeCapture(endpointId), makeCapture(endpointId)] };
  }

  async function books(endpointId: string): Promise<unknown> {
    const usage = await environment.db.knex('daily_usage').where({ day: DAY }).sum({ accepted: 'accepted' });
    return [await idsOf(endpointId), await storedCount(endpointId), usage, await environment.db.knex('dead_letters')];
  }

  test('removes batches a week after they were stored', async () => {
    const endpoint = await newEndpoint('keeper');
    const [older, younger] = [newBatch(endpoint, newTimeOrderedId()), newBatch(endpoint)];
    await persistBatches(environment.db.pool, [older, younger]);
    await storedHoursAgo(older.id, week + 1);
    await storedHoursAgo(younger.id, week - 1);
    expect(await run()).toMatchObject({ pruned: 1, done: true });
    expect(await ledger()).toEqual([younger.id]);
  });

  test('keeps batches that were stored recently, whatever the time in their id: a second run duplicates nothing', async () => {
    const endpoint = await newEndpoint('keeper');
    const batch = newBatch(endpoint);
    await persistBatches(environment.db.pool, [batch]);
    const before = await books(endpoint);
    await run();
    expect(await persistBatches(environment.db.pool, [batch])).toMatchObject({ stored: [], repeated: batch.captures });
    expect(await books(endpoint)).toEqual(before);
  });

  test('keeps a batch as long as its job is in the queue: a retry after that time duplicates nothing', async () => {
    const endpoint = await newEndpoint('keeper');
    const batches = [newBatch(endpoint), newBatch(endpoint)] as const;
    await persistBatches(environment.db.pool, [...batches]);
    for (const { id } of batches) await storedHoursAgo(id, eightDays);
    const before = await books(endpoint);
    const [failed, waiting] = batches;
    const data = encodeBatch(DAY, failed.captures);
    const job = await environment.queue.add('batch', data, { jobId: failed.id, attempts: 1 });
    await failJob(job.id);
    await enqueueCaptures(environment.queues['capture-large'], waiting);
    expect(await run()).toMatchObject({ pruned: 0, done: true });
    await job.retry('failed');
    const worker = await environment.startWorker();
    await environment.drained();
    await worker.stop();
    expect(await books(endpoint)).toEqual(before);
    await run();
    expect(await ledger()).toEqual([]);
  });

  test('removes batches after many that are still in the queue', async () => {
    const endpoint = await newEndpoint('keeper');
    const held = Array.from({ length: 1_100 }, oldId);
    await environment.db.knex.batchInsert(
      'capture_batches',
      held.map((id) => ({ id: idToBytes(id) })),
    );
    await environment.db.knex.raw('UPDATE capture_batches SET stored_at = NOW(3) - INTERVAL 30 DAY');
    const keys = held.map((id) => environment.queue.toKey(id));
    await environment.redis.mset(Object.fromEntries(keys.map((key) => [key, 'a job'])));
    const done = newBatch(endpoint);
    await persistBatches(environment.db.pool, [done]);
    await storedHoursAgo(done.id, eightDays);
    expect(await run()).toMatchObject({ pruned: 1, done: true });
    expect(await ledger()).toEqual(held.toSorted());
    await environment.redis.del(keys);
    expect(await run()).toMatchObject({ pruned: 1_100, done: true });
  });

  /** Fails a job's only attempt, like a worker that cannot run it. */
  async function failJob(id: string | undefined): Promise<void> {
    const worker = new Worker(environment.queue.name, () => Promise.reject(new Error('no')), {
      connection: environment.redis,
      prefix: redisKeys(environment.config.redis.prefix).queues,
    });
    await eventually(async () => (await environment.queue.getFailed()).some((job) => job.id === id));
    await worker.close();
  }
});

test('deletes of endpoints and entries race captures: nothing deleted reappears, and counts stay right', async () => {
  const worker = await environment.startWorker();
  const api = await environment.startApi();
  const owner = client(api.url, mintToken('dora'));
  const doomed = await Promise.all(Array.from({ length: 6 }, async () => (await owner.create()).body.id));
  const kept = (await owner.create()).body.id;
  const deleted = new Set<string>();
  let [deleting, receipts] = [true, 0];
  const senders = Array.from({ length: 8 }, async (_, n) => {
    for (let i = 0; deleting || i < 20; i += 1) {
      const target = [...doomed, kept][(i + n) % 7] as string;
      const { status, body } = await send<{ id: string }>(`${api.url}/h/${target}`, { method: 'POST' });
      expect([200, 404]).toContain(status);
      if (target !== kept || status !== 200) continue;
      receipts += 1;
      if (receipts % 3 === 0 && (await owner.remove(body.id)).status === 200) deleted.add(body.id);
    }
  });
  for (const id of doomed) expect((await owner.removeEndpoint(id)).status).toBe(200);
  deleting = false;
  await Promise.all(senders);
  await environment.drained();
  for (const id of doomed) await eventually(async () => (await idsOf(id)).length === 0);
  const left = await idsOf(kept);
  expect(left.filter((id) => deleted.has(id))).toEqual([]);
  expect(left).toHaveLength(receipts - deleted.size);
  expect(await storedCount(kept)).toBe(left.length);
  expect((await owner.list(kept)).body.total).toBe(left.length);
  expect((await owner.endpoint(kept)).body.request_count).toBe(receipts);
  await api.stop();
  await worker.stop();
});

test('through the queue, with three workers: one schedule, expired endpoints are 410 and then 404 on every pod', async () => {
  // Their schedule would run sweeps in later tests.
  for (let i = 0; i < 3; i += 1)
    closing(await environment.startWorker({ EXPIRED_GRACE_HOURS: '0' }), (worker) => worker.stop());
  const maintenance = openMaintenanceQueue(environment.redis, environment.config.redis.prefix);
  await eventually(async () => (await maintenance.getJobSchedulersCount()) === 1);
  const pods = [await environment.startApi(), await environment.startApi()];
  const owner = client(pods[0]?.url ?? '', mintToken('eve'));
  const { id } = (await owner.create()).body;
  for (const { url } of pods) await captureOne(url, id);
  await environment.drained();
  await environment.db
    .knex('endpoints')
    .where({ id: idToBytes(id) })
    .update({ expires_at: new Date(Date.now() - 1000) });
  await requestSweep(maintenance);
  await eventually(async () => (await owner.endpoint(id)).status === 404);
  for (const { url } of pods)
    await eventually(async () => (await send(`${url}/h/${id}`, { method: 'POST' })).status === 404, 2_000);
  await eventually(async () => (await idsOf(id)).length === 0);
  expect(await maintenance.getFailedCount()).toBe(0);
  expect(await maintenance.getJobSchedulersCount()).toBe(1);
});

describe('share links', () => {
  /** Creates a link that ends in so many days; returns the hash of its token. */
  async function share(endpointId: string, endsInDays: number, requestId: string | null = null): Promise<string> {
    const hash = hashShareToken(newShareToken());
    const expiresAt = new Date(Date.now() + endsInDays * DAY_MS);
    const createdAt = new Date(expiresAt.getTime() - 30 * DAY_MS);
    const link = { id: newShareId(), userId: 'pro', endpointId, requestId, redact: true, label: null, until: null };
    // Each at its own time: the number of live ones is limited.
    expect(await insertShare(environment.db.knex, { ...link, expiresAt, createdAt }, hash)).toBe(true);
    return hash.toString('hex');
  }
  const left = async (hashes: string[]): Promise<boolean[]> => {
    const found = await findShares(environment.db.knex, hashes);
    return hashes.map((hash) => found.has(hash));
  };

  test('go a week after they have ended, in chunks; the next sweep continues one that ran out of time', async () => {
    const id = await newEndpoint('pro');
    const hashes = [await share(id, 1), await share(id, -6.9), await share(id, -7.1), await share(id, -100)];
    expect(await run({ isOver: () => true })).toMatchObject({ unshared: 0, done: false });
    expect(await left(hashes)).toEqual([true, true, true, true]);
    expect(await run()).toMatchObject({ unshared: 2, done: true });
    expect(await left(hashes)).toEqual([true, true, false, false]);

    const [row] = await environment.db.knex('shares').limit(1);
    const many = Array.from({ length: 2_300 }, () => ({
      ...row,
      id: idToBytes(newShareId()),
      token_hash: hashShareToken(newShareToken()),
      expires_at: new Date(Date.now() - 8 * DAY_MS),
    }));
    await environment.db.knex.batchInsert('shares', many, 500);
    expect((await run()).unshared).toBe(2_300);
    expect(await left(hashes)).toEqual([true, true, false, false]);
  });

  test('go with the entry that they share, past retention too, and with their endpoint', async () => {
    const id = await newEndpoint('pro');
    const [old = ''] = await store(id, 1, 31);
    const [young = ''] = await store(id, 1);
    const hashes = [await share(id, 1, old), await share(id, 1, young), await share(id, 1)];
    expect(await run()).toMatchObject({ retired: 1, done: true });
    expect(await left(hashes)).toEqual([false, true, true]);
    await removeEndpoint(environment.db.knex, 'pro', id, new Date());
    expect(await left(hashes)).toEqual([false, false, false]);
    await run();
    expect(await environment.db.knex('shares')).toEqual([]);
  });
});
