import { UserError } from '../user-error.ts';
import type { Log } from '../log.ts';
import { poll } from '../poll.ts';
import { isForbidden } from '../redis/connections.ts';
import type { Database } from '../store/database.ts';
import { checkPacketSize, pendingMigrations } from '../store/migrations.ts';
import { isUnavailable } from '../store/sql-errors.ts';

const RETRY_MS = 200;

export interface StartupCheck {
  /** What is still missing; empty after the check has passed. */
  missing(): string[];
  passed: Promise<void>;
  stop(): void;
}

export interface StartupCheckOptions {
  db: Database;
  /** Sends Redis a command that this role needs. */
  pingRedis: () => Promise<unknown>;
  /** What of Redis' contents prevents readiness. */
  layoutProblem: () => Promise<string | undefined>;
  /** Whether this role can work without the database for a while. */
  toleratesDeadDatabase: boolean;
  /** Largest body of any plan, in bytes; the database's packets have to hold it. */
  largestBody: number;
  /** Problems of unsafe settings that prevent readiness; throws when Redis does not answer. */
  unsafe: () => Promise<string[]>;
  log: Log;
}

/** Checks until Redis and the schema pass, then never again: an outage must not take the fleet out of service. */
export function startStartupCheck({
  db,
  pingRedis,
  layoutProblem,
  toleratesDeadDatabase,
  largestBody,
  unsafe,
  log,
}: StartupCheckOptions): StartupCheck {
  let missing = ['starting'];
  const { promise: passed, resolve: pass } = Promise.withResolvers<void>();
  const checking = poll(check);

  async function check(): Promise<number | undefined> {
    const unreachable = [await redisProblem(), await schemaProblem()].filter((problem) => problem !== undefined);
    const found = unreachable.length > 0 ? unreachable : await durabilityProblems();
    if (found.join() !== missing.join()) log.info({ missing: found }, found.length === 0 ? 'Ready' : 'Not ready yet');
    missing = found;
    if (missing.length > 0) return RETRY_MS;
    pass();
    return undefined;
  }

  async function redisProblem(): Promise<string | undefined> {
    try {
      await pingRedis();
      return await layoutProblem();
    } catch (error) {
      if (isForbidden(error)) return `Redis forbids a command that is needed: ${(error as Error).message}`;
      return wrongPassword(error) ? 'Redis refuses the password' : 'Redis is not reachable';
    }
  }

  async function schemaProblem(): Promise<string | undefined> {
    try {
      const pending = await pendingMigrations(db);
      await checkPacketSize(db, largestBody);
      return pending.length === 0
        ? undefined
        : `migrations are pending: ${pending.join(', ')} (run the role "migrate")`;
    } catch (error) {
      if (error instanceof UserError) return error.message;
      if (isUnavailable(error) && toleratesDeadDatabase) return undefined;
      const { code } = error as { code?: string };
      return `the database refuses access (${code ?? 'unknown error'})`;
    }
  }

  async function durabilityProblems(): Promise<string[]> {
    try {
      return await unsafe();
    } catch {
      return ['Redis is not reachable'];
    }
  }

  return { missing: () => missing, passed, stop: () => void checking.stop() };
}

function wrongPassword(error: unknown): boolean {
  return error instanceof Error && /WRONGPASS|NOAUTH/.test(error.message);
}
