import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { checkPacketSize, migrate, pendingMigrations } from '../../src/store/migrations.ts';
import { closing, openEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
beforeAll(async () => {
  environment = await openEnvironment();
});
afterAll(() => environment.close());

async function emptyDatabase(): Promise<void> {
  const { knex } = environment.db;
  const [tables] = (await knex.raw('SHOW TABLES')) as [Record<string, string>[]];
  for (const row of tables) await knex.schema.dropTable(Object.values(row)[0] as string);
}

async function tables(): Promise<string[]> {
  const [rows] = (await environment.db.knex.raw('SHOW TABLES')) as [Record<string, string>[]];
  return rows.map((row) => Object.values(row)[0] as string).toSorted();
}

const ALL = ['001_init', '002_ledger_time'];
const TABLES = ['capture_batches', 'daily_usage', 'dead_letters', 'endpoints', 'hookbay_migrations', 'hookbay_migrations_lock', 'purges', 'requests', 'users'];

test('twenty at once: one does the work, all succeed', async () => {
  await emptyDatabase();
  const databases = Array.from({ length: 20 }, () => closing(openDatabase(environment.config.mysql), (db) => db.close()));
  const ran = await Promise.all(databases.map(migrate));
  expect(ran.filter((names) => names.length > 0)).toEqual([ALL]);
  expect(await tables()).toEqual(TABLES);
  expect(await pendingMigrations(environment.db)).toEqual([]);
});

test('after a run that was killed half-way: its lock is freed, its work repeated', async () => {
  await emptyDatabase();
  await migrate(environment.db);
  // What a killed process leaves behind: the lock taken, the migration not noted, some of its tables there.
  await environment.db.knex('hookbay_migrations_lock').update({ is_locked: 1 });
  await environment.db.knex('hookbay_migrations').delete();
  await environment.db.knex.schema.dropTable('requests');
  expect(await pendingMigrations(environment.db)).toEqual(ALL);
  expect(await migrate(environment.db)).toEqual(ALL);
  expect(await tables()).toEqual(TABLES);
});

test('a ledger in use learns the time: with rows, after a run that was killed, under the older version', async () => {
  await emptyDatabase();
  await migrate(environment.db);
  const { knex } = environment.db;
  // As the version before left it, and a run that was killed between its two statements.
  await knex.raw('ALTER TABLE capture_batches DROP KEY capture_batches_stored, DROP COLUMN stored_at');
  await knex('hookbay_migrations').where({ name: '002_ledger_time' }).delete();
  await knex('capture_batches').insert({ id: Buffer.alloc(16, 1) });
  expect(await migrate(environment.db)).toEqual(['002_ledger_time']);
  await knex('hookbay_migrations').where({ name: '002_ledger_time' }).delete();
  await knex.raw('ALTER TABLE capture_batches DROP KEY capture_batches_stored');
  expect(await migrate(environment.db)).toEqual(['002_ledger_time']);
  await knex('capture_batches').insert({ id: Buffer.alloc(16, 2) });
  const lately = 'stored_at BETWEEN NOW(3) - INTERVAL 10 MINUTE AND NOW(3)';
  expect(await knex('capture_batches').whereRaw(lately)).toHaveLength(2);
  const [indexes] = (await knex.raw('SHOW INDEX FROM capture_batches')) as [{ Key_name: string }[]];
  expect(indexes.map(({ Key_name }) => Key_name).toSorted()).toEqual(['PRIMARY', 'capture_batches_stored']);
});

test('after a rollback the older version finds a schema from the future, and works with it', async () => {
  await emptyDatabase();
  await migrate(environment.db);
  await environment.db.knex('hookbay_migrations').insert({ name: '999_future', batch: 2, migration_time: new Date() });
  expect(await pendingMigrations(environment.db)).toEqual([]);
  expect(await migrate(environment.db)).toEqual([]);
  // And still does what is its own.
  await environment.db.knex('hookbay_migrations').where({ name: '001_init' }).delete();
  expect(await migrate(environment.db)).toEqual(['001_init']);
});

test('the role "migrate" does it and ends with 0, and says what is wrong otherwise', async () => {
  await emptyDatabase();
  expect((await runMigrate({})).code).toBe(0);
  expect(await tables()).toEqual(TABLES);
  const tooLarge = await runMigrate({ PLANS: '{"huge":{"maxRequestSize":33554432}}', MYSQL_DATABASE: environment.config.mysql.database });
  // The private servers take 64 MiB, so that the check itself is asked below.
  expect(tooLarge.code).toBe(0);
  const unreachable = await runMigrate({ MYSQL_PORT: '1' });
  expect(unreachable.code).toBe(1);
  expect(unreachable.output).toMatch(/ECONNREFUSED/);
});

test('a database whose packets are too small for the largest plan is refused with what to set', async () => {
  await expect(checkPacketSize(environment.db, 64 * 1024 * 1024)).rejects.toThrow(/max_allowed_packet.*set it to 95\d{6} or more/);
  await expect(checkPacketSize(environment.db, 32 * 1024 * 1024)).resolves.toBeUndefined();
});

function runMigrate(extra: Record<string, string>): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['src/main.ts', 'migrate'], { env: { ...process.env, ...environment.env, ...extra } });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('exit', (code) => resolve({ code, output }));
  });
}

test.each([
  ['migrate', 'nobody is there', { MYSQL_HOST: '127.0.0.1', MYSQL_PORT: '1' }, /^The database at 127\.0\.0\.1:1 can't be used: connect ECONNREFUSED .*MYSQL_URL, or MYSQL_HOST/],
  ['dead-letters list', 'the password is wrong', { MYSQL_PASSWORD: 'wrong' }, /^The database at .* can't be used: Access denied for user .*MYSQL_URL, or MYSQL_HOST/],
])('%s says what to do where %s', async (command, _why, wrong, message) => {
  const child = spawn(process.execPath, ['src/main.ts', ...command.split(' ')], { env: { ...process.env, ...environment.env, ...wrong }, stdio: ['ignore', 'ignore', 'pipe'] });
  let printed = '';
  child.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect([code, printed]).toEqual([1, expect.stringMatching(message)]);
  expect(printed.trim().split('\n')).toHaveLength(1);
});
