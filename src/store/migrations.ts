import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import * as init from '../../migrations/001_init.ts';
import * as ledgerTime from '../../migrations/002_ledger_time.ts';
import * as endpointCounts from '../../migrations/003_endpoint_counts.ts';
import * as customResponses from '../../migrations/004_custom_responses.ts';
import * as shares from '../../migrations/005_shares.ts';
import * as methodIndex from '../../migrations/006_method_index.ts';
import { MisconfigurationError, UserError } from '../user-error.ts';
import type { Connection, Database } from './database.ts';

/** In order, under names that are the same in TypeScript and in the built image. */
const MIGRATIONS: { name: string; migration: Knex.Migration }[] = [
  { name: '001_init', migration: init },
  { name: '002_ledger_time', migration: ledgerTime },
  { name: '003_endpoint_counts', migration: endpointCounts },
  { name: '004_custom_responses', migration: customResponses },
  { name: '005_shares', migration: shares },
  { name: '006_method_index', migration: methodIndex },
];

const LOCK_TIMEOUT_SECONDS = 120;

/** A packet holds a large body (in Base64 as a dead letter) or a batch of rows. */
const PACKET_PER_BODY = 1.4;
const PACKET_OF_ROWS = 8 * 1024 * 1024;
const ROOM_BESIDE = 1024 * 1024;

const config: Knex.MigratorConfig = {
  tableName: 'hookbay_migrations',
  // MySQL commits each DDL statement on its own, so a transaction would have no effect.
  disableTransactions: true,
  // After a rollback the database has migrations that this version does not know; they leave older versions working.
  disableMigrationsListValidation: true,
  migrationSource: {
    getMigrations: async () => MIGRATIONS,
    getMigrationName: (entry: (typeof MIGRATIONS)[number]) => entry.name,
    getMigration: async (entry: (typeof MIGRATIONS)[number]) => entry.migration,
  },
};

/**
 * Brings the schema up to date and returns the names of the migrations that it ran.
 *
 * Safe for concurrent processes, and after a killed run: a server-side lock, which ends with its connection, admits one
 * at a time; knex's own lock row, which outlives a killed process, is freed under it; and each migration can be
 * repeated.
 *
 * @param onWait called once when another migration holds the lock, which is then waited for
 * @throws UserError when the lock is not free within two minutes, or a migration fails
 */
export async function migrate(db: Database, onWait = () => {}): Promise<string[]> {
  const lock = await db.pool.getConnection();
  try {
    const name = await lockName(db);
    if (!(await getLock(lock, name, 0))) {
      onWait();
      await waitForLock(lock, name);
    }
    await db.knex.migrate.forceFreeMigrationsLock(config);
    const [, ran] = (await db.knex.migrate.latest(config)) as [number, string[]];
    return ran;
  } finally {
    // Closing the connection always frees the lock.
    lock.destroy();
  }
}

async function waitForLock(connection: Connection, name: string): Promise<void> {
  if (await getLock(connection, name, LOCK_TIMEOUT_SECONDS)) return;
  throw new UserError(`another migration has held the lock for ${LOCK_TIMEOUT_SECONDS} s; try again when it is done`);
}

async function getLock(connection: Connection, name: string, seconds: number): Promise<boolean> {
  const [rows] = await connection.query('SELECT GET_LOCK(?, ?) AS got', [name, seconds]);
  return (rows as { got: number | null }[])[0]?.got === 1;
}

/** Names of migrations that this version has and the database does not have. */
export async function pendingMigrations(db: Database): Promise<string[]> {
  if (!(await db.knex.schema.hasTable('hookbay_migrations'))) return MIGRATIONS.map(({ name }) => name);
  const done = new Set<string>(await db.knex('hookbay_migrations').pluck('name'));
  return MIGRATIONS.map(({ name }) => name).filter((name) => !done.has(name));
}

/** @throws MisconfigurationError when the largest request does not fit into one packet to the database */
export async function checkPacketSize(db: Database, largestBody: number): Promise<void> {
  const [rows] = await db.pool.query('SELECT @@max_allowed_packet AS bytes');
  const bytes = Number((rows as { bytes: number }[])[0]?.bytes);
  const needed = Math.ceil(Math.max(PACKET_PER_BODY * largestBody, PACKET_OF_ROWS) + ROOM_BESIDE);
  if (bytes < needed) {
    throw new MisconfigurationError(
      `max_allowed_packet of the database is ${bytes} bytes, but a plan accepts bodies of ${largestBody} bytes: ` +
        `set it to ${needed} or more, or lower maxRequestSize in PLANS`,
    );
  }
}

/** Lock names are server-wide and have at most 64 characters; installations must not wait for each other. */
async function lockName(db: Database): Promise<string> {
  const [rows] = await db.pool.query('SELECT DATABASE() AS name');
  const name = String((rows as { name: string }[])[0]?.name);
  return `hookbay:migrate:${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
}
