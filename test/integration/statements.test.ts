import type { Knex } from 'knex';
import type { Pool } from 'mysql2/promise';
import { expect, test } from 'vitest';
import { idToBytes, newTimeOrderedId } from '../../src/domain/ids.ts';
import { measureFilteredPage } from '../../src/store/filtered-page.ts';
import { DAY_MS } from '../../src/domain/time.ts';
import { openDatabase, type Database } from '../../src/store/database.ts';
import { removeRequests } from '../../src/store/remove-requests.ts';
import { listRequestsAfter, measurePage } from '../../src/store/requests.ts';
import { dueEntries, listOldestEntries, purgeChunk, retireChunk } from '../../src/store/retention.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture, storeEndpoint } from '../support/captures.ts';
import { closing, useEnvironment, type Environment } from '../support/environment.ts';

/* What requests cost the database, in statements and in what they read: neither depends on how busy the machine is. */

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

/** Entries of that many endpoints, in turn. */
async function store(endpoints: number, entries: number): Promise<{ endpointIds: string[]; ids: string[] }> {
  const { db } = environment;
  const endpointIds: string[] = [];
  while (endpointIds.length < endpoints) endpointIds.push(await storeEndpoint(db.knex));
  const captures = Array.from({ length: entries }, (_, i) =>
    makeCapture(endpointIds[i % endpoints] as string, { method: i % 8 === 0 ? 'PUT' : 'POST' }),
  );
  await persistBatches(db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures }]);
  return { endpointIds, ids: captures.map(({ id }) => id) };
}

/** The rows that a read takes from tables and indexes; its database has one connection. */
async function rowsRead(read: (db: Database) => Promise<unknown>): Promise<number> {
  const db = closing(openDatabase({ ...environment.config.mysql, poolSize: 1 }), (open) => open.close());
  await db.pool.query('FLUSH STATUS');
  await read(db);
  const [status] = await db.pool.query("SHOW SESSION STATUS LIKE 'Handler_read%'");
  return (status as { Value: string }[]).reduce((sum, { Value }) => sum + Number(Value), 0);
}

test('the sweep finds the oldest entry of an endpoint by its key, not by reading all 500', async () => {
  const { endpointIds, ids } = await store(1, 500);
  const before = idToBytes(endpointIds[0] as string).subarray(0, 15);
  const read = await rowsRead(async ({ knex }) => {
    const [found] = await listOldestEntries(knex, before, 1);
    expect(found?.oldest).toEqual(idToBytes(ids[0] as string));
  });
  expect(read).toBeLessThan(100);
});

test('a page of entries, of people by id and of streams by seq, reads as many rows as it shows', async () => {
  const { endpointIds, ids } = await store(100, 20_000);
  await environment.db.knex.raw('ANALYZE TABLE requests');
  const [endpointId] = endpointIds as [string];
  const reader = { userId: 'ann', since: Date.now() - 7 * DAY_MS };
  const reads: Record<string, (db: Database) => Promise<unknown>> = {
    newest: ({ knex }) => measurePage(knex, reader, endpointId, { limit: 10, offset: 0 }),
    'newest without retention': ({ knex }) =>
      measurePage(knex, { ...reader, since: null }, endpointId, { limit: 10, offset: 0 }),
    'deep inside': ({ knex }) => measurePage(knex, reader, endpointId, { limit: 10, offset: 0, before: ids[10_000] }),
    'after a seq': ({ knex }) =>
      listRequestsAfter(knex, reader, endpointId, { after: 100, limit: 10, maxBody: 100, cutsBodies: true }),
  };
  const rows: Record<string, number> = {};
  for (const [name, read] of Object.entries(reads))
    rows[name] = await rowsRead(async (db) => expect(await read(db)).toHaveLength(10));
  for (const [name, read] of Object.entries(rows)) expect(read, name).toBeLessThan(100);
});

/** How many statements some work takes through knex. */
async function statementsOf(knex: Knex, work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const listen = (): void => void (count += 1);
  knex.on('query', listen);
  await work();
  knex.off('query', listen);
  return count;
}

async function storedOf(endpointIds: readonly string[]): Promise<number> {
  const [left] = await environment.db
    .knex('endpoints')
    .whereIn('id', endpointIds.map(idToBytes))
    .sum<{ n: string }[]>({ n: 'stored_count' });
  return Number(left?.n);
}

test('a delete of many entries takes as many statements for twenty endpoints as for one', async () => {
  const { knex } = environment.db;
  const statements: number[] = [];
  for (const endpoints of [1, 20]) {
    const { endpointIds, ids } = await store(endpoints, 40);
    statements.push(
      await statementsOf(knex, async () =>
        expect(await removeRequests(knex, 'ann', [...ids.slice(1), newTimeOrderedId()])).toBe(39),
      ),
    );
    expect(await storedOf(endpointIds)).toBe(1);
  }
  expect(statements[1]).toBe(statements[0]);
});

test.for(['retention', 'purge'])(
  '%s takes as many statements for twenty endpoints as for one, and reads what it deletes',
  async (kind) => {
    const statements: number[] = [];
    for (const endpoints of [1, 20]) {
      const { endpointIds } = await store(endpoints, 400);
      const due = endpointIds.map((id) => dueEntries(idToBytes(id), kind === 'purge' ? null : Date.now() + 1_000));
      const remove = kind === 'purge' ? purgeChunk : retireChunk;
      expect(await remove(environment.db.knex, due, 100)).toMatchObject({ deleted: 100 });
      const read = await rowsRead(async ({ knex }) => {
        const deleteAll = async (): Promise<void> =>
          expect(await remove(knex, due, 1_000)).toEqual({ deleted: 300, left: [] });
        statements.push(await statementsOf(knex, deleteAll));
      });
      // Finds, locks, checks and deletes each; more would be reading the whole endpoint again.
      expect(read).toBeLessThan(4 * 300 + 100);
      expect(await storedOf(endpointIds)).toBe(kind === 'purge' ? 400 : 0);
    }
    expect(statements[1]).toBe(statements[0]);
  },
);

test('a list by method, and its total, look for entries in an index alone', async () => {
  const { endpointIds } = await store(1, 200);
  const statements: [string, unknown[]][] = [];
  const query = (sql: string, values: unknown[]): unknown => {
    statements.push([sql, values]);
    return environment.db.pool.query(sql, values);
  };
  const db: Database = { ...environment.db, pool: { query } as unknown as Pool };
  const filter = { methods: ['PUT'], headers: [], json: [] };
  const reader = { userId: 'ann', since: null };
  const page = await measureFilteredPage(db, reader, endpointIds[0] as string, filter, { limit: 10, offset: 0 });
  expect(page).toMatchObject({ total: 25, entries: { length: 10 } });
  expect(statements.length).toBeGreaterThan(1);
  for (const [sql, values] of statements) {
    const [plan] = await environment.db.pool.query(sql.replace(/\bSELECT\b/, 'EXPLAIN SELECT'), values);
    const searched = (plan as { key: string; Extra: string }[]).filter(({ key }) => key === 'requests_endpoint_id');
    // MySQL describes a plan as a tree.
    const isTree = /Covering index [^"]*using requests_endpoint_id/.test(JSON.stringify(plan));
    const usesIndex = searched.map(({ Extra }) => /\bUsing index\b(?! condition)/.test(Extra));
    expect(isTree ? [true] : usesIndex).toEqual([true]);
  }
});
