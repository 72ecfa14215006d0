import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { encodeBatch, type CaptureBatchJob } from '../../src/domain/capture-job.ts';
import { idToBytes, newTimeOrderedId } from '../../src/domain/ids.ts';
import { createWorkerMetrics } from '../../src/worker/metrics.ts';
import { inTransaction } from '../../src/store/database.ts';
import { createBroadcaster } from '../../src/worker/broadcast.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { startCaptureWorker } from '../../src/worker/capture-worker.ts';
import { makeCapture, storeEndpoint } from '../support/captures.ts';
import { mintToken } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { connectClient } from '../support/live/clients.ts';

const DAY = '2026-03-01';

let environment: Environment;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  endpointId = await storeEndpoint(environment.db.knex);
});

/** A capture worker with the events and warnings that it produced. */
function startWorker() {
  const { db, redis, config } = environment;
  const warnings: string[] = [];
  const write = (line: string): void => void warnings.push((JSON.parse(line) as { msg: string }).msg);
  const log = pino({ level: 'warn' }, { write });
  const { prefix } = config.redis;
  const broadcaster = createBroadcaster({ pool: db.pool, publisher: redis, prefix, log });
  const locks = { lockDuration: 30_000, stalledInterval: 15_000, maxStalledCount: 1_000 };
  const worker = startCaptureWorker({
    db,
    redis,
    log,
    redisPrefix: prefix,
    concurrency: 64,
    broadcast: (persisted) => broadcaster.broadcast(persisted),
    metrics: createWorkerMetrics(),
    shards: [{ prefix, redis }],
    locks,
  });
  return { warnings, close: () => worker.close() };
}

/** A job of captures that stays in the queue when it is done, with its outcome. */
async function addJob(change: (data: CaptureBatchJob) => unknown = (data) => data) {
  const id = newTimeOrderedId();
  const captures = [makeCapture(endpointId)];
  const data = change(encodeBatch(DAY, captures)) as CaptureBatchJob;
  await environment.queue.add('batch', data, { jobId: id, attempts: 1, removeOnComplete: false });
  const outcome = async (): Promise<unknown> => {
    const job = await environment.queue.getJob(id);
    return { state: await job?.getState(), begun: job?.attemptsStarted, ended: job?.attemptsMade };
  };
  return { id, captures, outcome };
}

async function isStored(id: string): Promise<boolean> {
  return (await environment.db.knex('requests').where({ id: idToBytes(id) })).length === 1;
}

test('a batch that makes the code throw fails alone: others in its transaction are stored at once', async () => {
  const jobs: Awaited<ReturnType<typeof addJob>>[] = [];
  const worker = closing(startWorker(), ({ close }) => close());
  // While the endpoint is locked the first job's transaction waits, and the others queue behind it.
  await inTransaction(environment.db.pool, async (connection) => {
    await connection.query('SELECT id FROM endpoints WHERE id = ? FOR UPDATE', [idToBytes(endpointId)]);
    for (let n = 0; n < 20; n += 1) {
      jobs.push(await addJob());
      if (n === 7 || n === 15) jobs.push(await addJob(withoutHeaders));
    }
    await eventually(async () => (await environment.queue.getActiveCount()) === 22);
  });
  await environment.drained();
  const bad = [8, 17];
  const outcomes = await Promise.all(jobs.map(({ outcome }) => outcome()));
  const state = (n: number): string => (bad.includes(n) ? 'failed' : 'completed');
  expect(outcomes).toEqual(jobs.map((_, n) => ({ state: state(n), begun: 1, ended: 1 })));
  const stored = await Promise.all(jobs.map(({ captures }) => isStored(captures[0]?.id ?? '')));
  expect(stored).toEqual(jobs.map((_, n) => !bad.includes(n)));
  expect(worker.warnings).toContain('Batches failed together; they are tried in halves');
});

describe('a repeated job, while the database does not return the sequence of its captures', () => {
  /** The ledger answers, the entries do not. */
  const hideEntries = (): Promise<unknown> => environment.db.knex.raw('RENAME TABLE requests TO hidden');
  const showEntries = (): Promise<unknown> => environment.db.knex.raw('RENAME TABLE hidden TO requests');
  afterEach(() => environment.db.knex.schema.hasTable('hidden').then((hidden) => hidden && showEntries()));
  const NO_ANSWER = 'The database did not return the sequence of stored captures; trying again';

  async function storedJob() {
    const job = await addJob();
    await persistBatches(environment.db.pool, [{ id: job.id, day: DAY, captures: job.captures }]);
    return job;
  }

  test('waits for the answer, which costs it no attempt, and its events are published then', async () => {
    const api = await environment.startApi();
    const follower = await connectClient(api.url, mintToken('ann'));
    const job = await storedJob();
    await hideEntries();
    const worker = closing(startWorker(), ({ close }) => close());
    await eventually(() => worker.warnings.filter((warning) => warning === NO_ANSWER).length >= 3);
    expect(await job.outcome()).toEqual({ state: 'active', begun: 1, ended: 0 });
    await showEntries();
    await environment.drained();
    expect(await job.outcome()).toEqual({ state: 'completed', begun: 1, ended: 1 });
    await eventually(() => follower.events.some(({ id }) => id === job.captures[0]?.id));
  });

  test('goes back to the queue when the worker stops, without costing it an attempt', async () => {
    const api = await environment.startApi();
    await connectClient(api.url, mintToken('ann'));
    const job = await storedJob();
    await hideEntries();
    const worker = startWorker();
    await eventually(() => worker.warnings.includes(NO_ANSWER));
    await worker.close();
    await showEntries();
    expect(await job.outcome()).toMatchObject({ state: 'waiting', ended: 0 });
    const next = closing(startWorker(), ({ close }) => close());
    await environment.drained();
    expect(await job.outcome()).toMatchObject({ state: 'completed', ended: 1 });
    expect(next.warnings).toEqual([]);
  });
});

function withoutHeaders(data: CaptureBatchJob): unknown {
  return { ...data, captures: data.captures.map((capture) => ({ ...capture, headers: null })) };
}
