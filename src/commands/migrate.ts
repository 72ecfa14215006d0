import { setTimeout as sleep } from 'node:timers/promises';
import { largestBody, type Plans } from '../plans.ts';
import { describeError, type Log } from '../log.ts';
import type { Database } from '../store/database.ts';
import { checkPacketSize, migrate } from '../store/migrations.ts';
import { isSetupError, isRefusedAccess } from '../store/sql-errors.ts';

const RETRY_MS = 1_000;

/** A server during its setup may listen before its accounts exist, so a refusal counts only after this time. */
const REFUSAL_LASTS_MS = 20_000;

/**
 * Brings the schema up to date.
 * @param waitMs time limit for a database that is unreachable, or refuses the account
 * @throws MisconfigurationError, or the driver's error, when the schema is not up to date
 */
export async function runMigrations(db: Database, plans: Plans, waitMs: number, log: Log): Promise<void> {
  await waitForDatabase(db, waitMs, log);
  await checkPacketSize(db, largestBody(plans));
  const ran = await migrate(db, () => log.info('Another migration holds the lock; waiting for it'));
  log.info({ ran }, ran.length === 0 ? 'The schema is up to date' : 'Migrated');
}

async function waitForDatabase(db: Database, waitMs: number, log: Log): Promise<void> {
  const started = Date.now();
  let refusedSince: number | undefined;
  let loggedCode: unknown;
  for (;;) {
    const error: unknown = await db.pool.query('SELECT 1').then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error === undefined) return;
    refusedSince = isRefusedAccess(error) ? (refusedSince ?? Date.now()) : undefined;
    const end = refusedSince === undefined ? started + waitMs : refusedSince + Math.min(waitMs, REFUSAL_LASTS_MS);
    if (!isSetupError(error) || Date.now() + RETRY_MS > end) throw error;
    const { code } = error as { code?: string };
    if (code !== loggedCode) log.warn({ error: describeError(error) }, 'Waiting for the database');
    loggedCode = code;
    await sleep(RETRY_MS);
  }
}
