import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { createConnection, type Connection } from 'mysql2/promise';
import { expect, inject, onTestFinished, test } from 'vitest';
import { MisconfigurationError } from '../../src/user-error.ts';
import { connectionOptions } from '../../src/local/mysql.ts';
import { insertRequests } from '../../src/store/capture-batches.ts';
import { inTransaction, openDatabase } from '../../src/store/database.ts';
import { checkPacketSize, migrate, pendingMigrations } from '../../src/store/migrations.ts';
import { makeCapture, storeEndpoint } from '../support/captures.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startProxy } from '../support/proxy.ts';

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

async function emptyDatabase(): Promise<void> {
  const { knex } = environment.db;
  const [tables] = (await knex.raw('SHOW TABLES')) as [Record<string, string>[]];
  for (const row of tables) await knex.schema.dropTable(Object.values(row)[0] as string);
}

async function tables(): Promise<string[]> {
  const [rows] = (await environment.db.knex.raw('SHOW TABLES')) as [Record<string, string>[]];
  return rows.map((row) => Object.values(row)[0] as string).toSorted();
}

const ALL = [
  '001_init',
  '002_ledger_time',
  '003_endpoint_counts',
  '004_custom_responses',
  '005_shares',
  '006_method_index',
];
const TABLES = [
  'capture_batches',
  'daily_usage',
  'dead_letters',
  'endpoints',
  'hookbay_migrations',
  'hookbay_migrations_lock',
  'purges',
  'requests',
  'shares',
  'users',
];

test('twenty at once: one does the work, all succeed', async () => {
  await emptyDatabase();
  const databases = Array.from({ length: 20 }, () =>
    closing(openDatabase(environment.config.mysql), (db) => db.close()),
  );
  const ran = await Promise.all(databases.map((db) => migrate(db)));
  expect(ran.filter((names) => names.length > 0)).toEqual([ALL]);
  expect(await tables()).toEqual(TABLES);
  expect(await pendingMigrations(environment.db)).toEqual([]);
});

test('one that has to wait for another says so, once, and goes on when it is done', async () => {
  const { pool, knex } = environment.db;
  const lock = await pool.getConnection();
  const name = (await knex.raw('SELECT SHA2(DATABASE(), 256) AS hash')) as [{ hash: string }[]];
  await lock.query("SELECT GET_LOCK(CONCAT('hookbay:migrate:', LEFT(?, 32)), 0)", [name[0][0]?.hash]);
  let waits = 0;
  let done = false;
  const running = migrate(environment.db, () => (waits += 1)).then(() => (done = true));
  await eventually(() => waits === 1);
  expect(done).toBe(false);
  lock.destroy();
  await running;
  expect(waits).toBe(1);
});

test('after a run that was killed in the middle: its lock is freed, its work repeated', async () => {
  await emptyDatabase();
  await migrate(environment.db);
  // The state after a killed process: the lock taken, the migration not recorded, some of its tables created.
  await environment.db.knex('hookbay_migrations_lock').update({ is_locked: 1 });
  await environment.db.knex('hookbay_migrations').delete();
  await environment.db.knex.schema.dropTable('requests');
  expect(await pendingMigrations(environment.db)).toEqual(ALL);
  expect(await migrate(environment.db)).toEqual(ALL);
  expect(await tables()).toEqual(TABLES);
});

test('a ledger in use gets the time of storing: with rows, after a killed run, with the older version running', async () => {
  await emptyDatabase();
  await migrate(environment.db);
  const { knex } = environment.db;
  // The state of the previous version, after a run that was killed between its two statements.
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

test('custom responses get their columns: with rows, after a killed run, with the older version running', async () => {
  await emptyDatabase();
  await migrate(environment.db);
  const { knex } = environment.db;
  const now = new Date();
  // As the older version inserts: it knows neither column.
  const insert = (byte: number): Promise<unknown> =>
    knex('endpoints').insert({
      id: Buffer.alloc(16, byte),
      user_id: Buffer.from('ann'),
      is_permanent: 1,
      created_at: now,
      updated_at: now,
    });
  await knex.raw('ALTER TABLE endpoints DROP COLUMN response, DROP COLUMN response_version');
  await knex('hookbay_migrations').where({ name: '004_custom_responses' }).delete();
  await insert(1);
  expect(await migrate(environment.db)).toEqual(['004_custom_responses']);
  await knex('hookbay_migrations').where({ name: '004_custom_responses' }).delete();
  await knex.raw('ALTER TABLE endpoints DROP COLUMN response_version');
  expect(await migrate(environment.db)).toEqual(['004_custom_responses']);
  await insert(2);
  expect(await knex('endpoints').select('response', 'response_version')).toEqual(
    [1, 2].map(() => ({ response: null, response_version: 0 })),
  );
});

test('the index of entries gets the method: with rows, while others write, and once however often it runs', async () => {
  await emptyDatabase();
  await migrate(environment.db);
  const { knex, pool } = environment.db;
  const endpointId = await storeEndpoint(knex);
  const rows = Array.from({ length: 100 }, (_, i) => ({ ...makeCapture(endpointId), seq: i + 1 }));
  await inTransaction(pool, (connection) => insertRequests(connection, rows));
  // The server refuses these words where it would have to block writes or copy the table.
  await knex.raw(
    `ALTER TABLE requests DROP KEY requests_endpoint_id, ADD KEY requests_endpoint_id (endpoint_id, id),
     ALGORITHM=INPLACE, LOCK=NONE`,
  );
  for (const repeated of [false, true]) {
    await knex('hookbay_migrations').where({ name: '006_method_index' }).delete();
    expect(await migrate(environment.db), `repeated: ${repeated}`).toEqual(['006_method_index']);
    const [columns] = (await knex.raw("SHOW INDEX FROM requests WHERE Key_name = 'requests_endpoint_id'")) as [
      { Column_name: string }[],
    ];
    expect(columns.map(({ Column_name }) => Column_name)).toEqual(['endpoint_id', 'id', 'method']);
  }
  expect(await knex('requests').where({ method: 'POST' })).toHaveLength(100);
});

test('after a rollback the older version works with the newer schema', async () => {
  await emptyDatabase();
  await migrate(environment.db);
  await environment.db.knex('hookbay_migrations').insert({ name: '999_future', batch: 2, migration_time: new Date() });
  expect(await pendingMigrations(environment.db)).toEqual([]);
  expect(await migrate(environment.db)).toEqual([]);
  // And still runs its own migrations.
  await environment.db.knex('hookbay_migrations').where({ name: '001_init' }).delete();
  expect(await migrate(environment.db)).toEqual(['001_init']);
});

test('the role "migrate" migrates and exits with 0, and otherwise reports what is wrong', async () => {
  await emptyDatabase();
  expect((await runMigrate({})).code).toBe(0);
  expect(await tables()).toEqual(TABLES);
  const tooLarge = await runMigrate({
    PLANS: '{"huge":{"maxRequestSize":33554432}}',
    MYSQL_DATABASE: environment.config.mysql.database,
  });
  // The private servers accept 64 MiB, so the check itself is called below.
  expect(tooLarge.code).toBe(0);
  const unreachable = await runMigrate({ MYSQL_PORT: '1' });
  expect(unreachable.code).toBe(1);
  expect(unreachable.output).toMatch(/ECONNREFUSED/);
});

test('a database whose packets are too small for the largest plan is refused with the setting to change', async () => {
  await expect(checkPacketSize(environment.db, 64 * 1024 * 1024)).rejects.toBeInstanceOf(MisconfigurationError);
  await expect(checkPacketSize(environment.db, 64 * 1024 * 1024)).rejects.toThrow(
    /max_allowed_packet.*set it to 95\d{6} or more/,
  );
  await expect(checkPacketSize(environment.db, 32 * 1024 * 1024)).resolves.toBeUndefined();
});

/** `onWaiting` is called with the reason when the process logs that it waits. */
function runMigrate(
  extra: Record<string, string>,
  onWaiting?: (why: string) => void,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['src/main.ts', 'migrate'], {
      env: { ...process.env, ...environment.env, ...extra },
    });
    let output = '';
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`;
      const { msg, error } = JSON.parse(line) as { msg: string; error?: { code: string } };
      if (msg.startsWith('Waiting for the database')) onWaiting?.(error?.code ?? '');
    });
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('close', (code) => resolve({ code, output }));
  });
}

/** An account that has its privileges from its first moment on: MySQL has no statement for both, so it is renamed. */
async function createAccount(admin: Connection, user: string, password: string, privileges: string): Promise<void> {
  await admin.query(`CREATE USER '${user}_new'@'%' IDENTIFIED BY '${password}'`);
  await admin.query(`GRANT ${privileges} ON ${environment.config.mysql.database}.* TO '${user}_new'@'%'`);
  await admin.query(`RENAME USER '${user}_new'@'%' TO '${user}'@'%'`);
}

test('waits for a database that becomes reachable later, and for an account that is created later', async () => {
  await emptyDatabase();
  // A free port until the proxy listens on it.
  const free = createServer();
  const port = await new Promise<number>((resolve) =>
    free.listen(0, '127.0.0.1', () => resolve((free.address() as AddressInfo).port)),
  );
  await new Promise((resolve) => free.close(resolve));
  const admin = await createConnection(connectionOptions(inject('mysql')));
  onTestFinished(() => admin.end());
  const user = `late_${port}`;
  onTestFinished(async () => void (await admin.query(`DROP USER IF EXISTS '${user}'@'%'`)));
  const waits: string[] = [];
  const { code, output } = await runMigrate(
    {
      MYSQL_HOST: '127.0.0.1',
      MYSQL_PORT: String(port),
      MYSQL_USER: user,
      MYSQL_PASSWORD: 'late',
      MIGRATE_WAIT_SECONDS: '600',
      LOG_LEVEL: 'info',
    },
    (why) => {
      waits.push(why);
      if (why === 'ECONNREFUSED')
        void startProxy(environment.config.mysql.port, 0, port).then((proxy) => closing(proxy, (open) => open.close()));
      else void createAccount(admin, user, 'late', 'ALL');
    },
  );
  expect([code, waits], output).toEqual([0, ['ECONNREFUSED', 'ER_ACCESS_DENIED_ERROR']]);
  expect(await tables()).toEqual(TABLES);
});

test.each([
  ['a password that is refused', { MYSQL_PASSWORD: 'wrong', MIGRATE_WAIT_SECONDS: '2' }, 78, /Access denied for user/],
  ['a database that there is none of', { MYSQL_DATABASE: 'hookbay_none' }, 78, /Unknown database|Access denied/],
  ['a setting that is refused', { MIGRATE_WAIT_SECONDS: 'long' }, 78, /MIGRATE_WAIT_SECONDS must be/],
  [
    'a server that is not there',
    { MYSQL_HOST: '127.0.0.1', MYSQL_PORT: '1', MIGRATE_WAIT_SECONDS: '2' },
    1,
    /ECONNREFUSED/,
  ],
])(
  '%s ends "migrate" with the code for a permanent or a temporary fault: %j → %i',
  async (_what, extra, code, message) => {
    expect(await runMigrate(extra)).toEqual({ code, output: expect.stringMatching(message) });
  },
);

test('an account that may not change the schema is refused, too', async () => {
  await emptyDatabase();
  const admin = await createConnection(connectionOptions(inject('mysql')));
  const user = `reader_${process.pid}`;
  onTestFinished(async () => {
    await admin.query(`DROP USER IF EXISTS '${user}'@'%'`);
    await admin.end();
  });
  await createAccount(admin, user, 'reader', 'SELECT, INSERT');
  expect(await runMigrate({ MYSQL_USER: user, MYSQL_PASSWORD: 'reader' })).toEqual({
    code: 78,
    output: expect.stringMatching(/command denied to user/),
  });
});

test.each([
  [
    'migrate',
    'no server listens',
    { MYSQL_HOST: '127.0.0.1', MYSQL_PORT: '1' },
    /^The database at 127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED .*MYSQL_URL, or MYSQL_HOST, MYSQL_PORT, MYSQL_USER, MYSQL_PASSWORD and MYSQL_DATABASE\./,
  ],
  [
    'dead-letters list',
    'the password is wrong',
    { MYSQL_PASSWORD: 'wrong' },
    /^The database at .* cannot be used: Access denied for user .*MYSQL_URL, or MYSQL_HOST, MYSQL_PORT, MYSQL_USER, MYSQL_PASSWORD and MYSQL_DATABASE\./,
  ],
])('%s names what to check where %s', async (command, _why, wrong, message) => {
  const child = spawn(process.execPath, ['src/main.ts', ...command.split(' ')], {
    env: { ...process.env, ...environment.env, ...wrong },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let printed = '';
  child.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect([code, printed]).toEqual([1, expect.stringMatching(message)]);
  expect(printed.trim().split('\n')).toHaveLength(1);
});
