import type { RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bytesToId, idToBytes, newTimeOrderedId, timeOfId } from '../../src/domain/ids.ts';
import { enqueueCaptures } from '../../src/queue/capture-queue.ts';
import { addToCounters } from '../../src/store/capture-batches.ts';
import { removeEndpoint } from '../../src/store/endpoints.ts';
import { findUsage } from '../../src/store/usage.ts';
import { persistBatches, type CaptureBatch } from '../../src/worker/persist.ts';
import { makeCapture, storeEndpoint } from '../support/captures.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
let endpointId: string;
const DAY = '2026-03-01';

useEnvironment((opened) => {
  environment = opened;
});
beforeEach(async () => {
  endpointId = await storeEndpoint(environment.db.knex);
});

function batch(size: number, endpoint = endpointId): CaptureBatch {
  return { id: newTimeOrderedId(), day: DAY, captures: Array.from({ length: size }, () => makeCapture(endpoint)) };
}

async function state(endpoint = endpointId) {
  const { knex } = environment.db;
  const rows = await knex('requests')
    .where({ endpoint_id: idToBytes(endpoint) })
    .orderBy('seq')
    .select('id', 'seq');
  const counters = await knex('endpoints')
    .where({ id: idToBytes(endpoint) })
    .first('request_count', 'stored_count', 'last_request_at');
  return { ids: rows.map(({ id }) => bytesToId(id as Buffer)), seqs: rows.map(({ seq }) => seq as number), counters };
}

const today = (): Promise<number> => findUsage(environment.db.knex, 'ann', DAY);
const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe('the ledger', () => {
  test('running a job again changes nothing, alone and among new ones', async () => {
    const first = batch(5);
    const used = await today();
    await persistBatches(environment.db.pool, [first]);
    const before = await state();
    expect(before).toMatchObject({
      ids: first.captures.map(({ id }) => id),
      seqs: numbers(5),
      counters: { request_count: 5, stored_count: 5 },
    });
    expect(before.counters.last_request_at.getTime()).toBe(timeOfId(first.captures[4]?.id ?? ''));

    expect(await persistBatches(environment.db.pool, [first])).toMatchObject({ stored: [], refused: [] });
    expect(await state()).toEqual(before);

    const second = batch(3);
    const { stored } = await persistBatches(environment.db.pool, [first, second]);
    expect(stored.map(({ id, seq }) => [id, seq])).toEqual(second.captures.map(({ id }, i) => [id, 6 + i]));
    expect(await state()).toMatchObject({ seqs: numbers(8), counters: { request_count: 8, stored_count: 8 } });
    expect(await today()).toBe(used + 8);
  });

  test('eight workers that run the same jobs at once store each once', async () => {
    const batches = Array.from({ length: 20 }, () => batch(7));
    await Promise.all(Array.from({ length: 8 }, () => untilDone(() => persistBatches(environment.db.pool, batches))));
    expect(await state()).toMatchObject({ seqs: numbers(140), counters: { request_count: 140 } });
  });

  test('a repeated job restores nothing that was deleted meanwhile', async () => {
    const only = batch(2);
    await persistBatches(environment.db.pool, [only]);
    await environment.db
      .knex('requests')
      .where({ endpoint_id: idToBytes(endpointId) })
      .delete();
    await persistBatches(environment.db.pool, [only]);
    expect((await state()).ids).toEqual([]);
  });
});

test('many transactions on the same endpoints at once: sequences without gaps, counters right, no deadlock [`seq` (extra field of the log entry)]', async () => {
  const endpoints = await Promise.all(Array.from({ length: 10 }, () => storeEndpoint(environment.db.knex)));
  const sent = new Map<string, number>();
  let deadlocks = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let round = 0; round < 25; round += 1) {
        // Half of the endpoints each, so that the transactions lock each other's rows.
        const shuffled = endpoints.toSorted(() => Math.random() - 0.5).slice(0, 5);
        for (const id of shuffled) sent.set(id, (sent.get(id) ?? 0) + 2);
        const mixed: CaptureBatch = {
          id: newTimeOrderedId(),
          day: DAY,
          captures: shuffled.flatMap((id) => [makeCapture(id), makeCapture(id)]),
        };
        await persistBatches(environment.db.pool, [mixed]).catch(async (error: { errno?: number }) => {
          if (error.errno !== 1213) throw error;
          deadlocks += 1;
          await untilDone(() => persistBatches(environment.db.pool, [mixed]));
        });
      }
    }),
  );
  for (const id of endpoints) {
    const count = sent.get(id) ?? 0;
    expect(await state(id)).toMatchObject({
      seqs: numbers(count),
      counters: { request_count: count, stored_count: count },
    });
  }
  expect(deadlocks).toBe(0);
});

test('counters are updated by key: a small table is not scanned, which would wait for the locks of others', async () => {
  await environment.db.knex('endpoints').delete();
  const endpoints = await Promise.all(Array.from({ length: 10 }, () => storeEndpoint(environment.db.knex)));
  const connection = await environment.db.pool.getConnection();
  const rowsScanned = async (): Promise<number> => {
    const [rows] = await connection.query<RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Handler_read%next'");
    return rows.reduce((sum, row) => sum + Number(row['Value']), 0);
  };
  const before = await rowsScanned();
  await addToCounters(connection, new Map(endpoints.slice(5).map((id) => [id, { count: 1, lastAt: new Date() }])));
  const after = await rowsScanned();
  connection.release();
  expect(after - before).toBe(0);
});

test('captures of a deleted endpoint are dropped, count for the day, and do not block others', async () => {
  const gone = await storeEndpoint(environment.db.knex);
  await removeEndpoint(environment.db.knex, 'ann', gone, new Date());
  const used = await today();
  const mixed: CaptureBatch = {
    id: newTimeOrderedId(),
    day: DAY,
    captures: [makeCapture(gone), makeCapture(endpointId), makeCapture(gone)],
  };
  await persistBatches(environment.db.pool, [mixed, batch(1, gone)]);
  expect((await state()).seqs).toEqual([1]);
  expect((await state(gone)).ids).toEqual([]);
  expect(await today()).toBe(used + 4);
});

describe('a row that the database refuses', () => {
  beforeAll(() =>
    environment.db.knex.raw(`CREATE TRIGGER poison BEFORE INSERT ON requests FOR EACH ROW
      IF NEW.body LIKE '%poison%' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poison'; END IF`),
  );
  afterAll(() => environment.db.knex.raw('DROP TRIGGER poison'));

  test('goes to dead_letters completely, and the other rows, of its batch and of others, are stored without a gap', async () => {
    const poisonous = (): ReturnType<typeof makeCapture> =>
      makeCapture(endpointId, { body: Buffer.from([0x70, 0x6f, 0x69, 0x73, 0x6f, 0x6e, 0xff]), isUtf8: false });
    const bad = [poisonous(), poisonous(), poisonous()];
    const captures = [...batch(70).captures, bad[0], ...batch(1).captures, bad[1], ...batch(20).captures].map(
      (c) => c as ReturnType<typeof makeCapture>,
    );
    const mixed = { id: newTimeOrderedId(), day: DAY, captures };
    const onlyBad = { id: newTimeOrderedId(), day: DAY, captures: [bad[2] as ReturnType<typeof makeCapture>] };
    const { stored, refused } = await persistBatches(environment.db.pool, [mixed, onlyBad, batch(4)]);
    expect(refused.map(({ capture }) => capture.id).toSorted()).toEqual(bad.map(({ id }) => id).toSorted());
    expect(refused.map(({ errorCode }) => errorCode)).toEqual(bad.map(() => 'ER_SIGNAL_EXCEPTION'));
    expect(stored).toHaveLength(95);
    expect(await state()).toMatchObject({ seqs: numbers(95), counters: { request_count: 95, stored_count: 95 } });
    const letters = await environment.db
      .knex('dead_letters')
      .where({ endpoint_id: idToBytes(endpointId) })
      .orderBy('id');
    expect(letters.map(({ id }) => bytesToId(id as Buffer))).toEqual(bad.map(({ id }) => id).toSorted());
    const kept = JSON.parse(String(letters[0]?.capture)) as { b64: string };
    expect(Buffer.from(kept.b64, 'base64')).toEqual(bad[0]?.body);

    // The complete job runs again, as after a crash.
    expect(await persistBatches(environment.db.pool, [mixed, onlyBad])).toMatchObject({ stored: [], refused: [] });
    expect((await state()).seqs).toEqual(numbers(95));
  });

  test("for an unclear reason: after some tries it is treated as the data's fault, and blocks no others", async () => {
    await environment.db.knex.raw(`CREATE TRIGGER unclear BEFORE INSERT ON requests FOR EACH ROW
      IF NEW.body LIKE '%strange%' THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 3999, MESSAGE_TEXT = 'strange'; END IF`);
    const worker = await environment.startWorker();
    const captures = [makeCapture(endpointId, { body: Buffer.from('strange') }), makeCapture(endpointId)];
    await enqueueCaptures(environment.queue, { id: newTimeOrderedId(), day: DAY, captures });
    await enqueueCaptures(environment.queue, { id: newTimeOrderedId(), day: DAY, captures: [makeCapture(endpointId)] });
    await environment.drained();
    await worker.stop();
    await environment.db.knex.raw('DROP TRIGGER unclear');
    expect((await state()).seqs).toEqual([1, 2]);
    expect(await environment.db.knex('dead_letters').where({ id: idToBytes(captures[0]?.id ?? '') })).toHaveLength(1);
  });

  test('through the queue: the job completes, and the log has none of its content', async () => {
    await environment.startWorker();
    const captures = [makeCapture(endpointId, { body: Buffer.from('poison') }), makeCapture(endpointId)];
    await enqueueCaptures(environment.queue, { id: newTimeOrderedId(), day: DAY, captures });
    await environment.drained();
    expect(await environment.queue.getFailedCount()).toBe(0);
    expect((await state()).seqs).toEqual([1]);
  });
});

/** A lost race for the ledger's key may end as a deadlock; a worker would try again. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (![1213, 1205].includes((error as { errno?: number }).errno ?? 0)) throw error;
    }
  }
}
