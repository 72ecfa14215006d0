import { expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { isUnavailable } from '../../src/store/sql-errors.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

test('a silent connection is closed: during a statement, which fails as unavailable, and idle, without an error', async () => {
  const db = closing(openDatabase(environment.config.mysql, { silenceMs: 300 }), (database) => database.close());
  const error: unknown = await db.knex.raw('SELECT SLEEP(30)').then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(isUnavailable(error)).toBe(true);
  await db.knex.raw('SELECT 1');
  expect(db.connections().open).toBe(1);
  await eventually(() => db.connections().open === 0);
  await db.knex.raw('SELECT 1');
});

test('the connection of a migration has no time limit', async () => {
  const db = closing(openDatabase(environment.config.mysql, { silenceMs: 0 }), (database) => database.close());
  await expect(db.knex.raw('SELECT SLEEP(1)')).resolves.toBeDefined();
});
